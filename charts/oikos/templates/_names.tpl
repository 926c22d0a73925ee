{{/* The name of the release's objects. */}}
{{- define "oikos.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The name of the controller's ServiceAccount. */}}
{{- define "oikos.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "oikos.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The controller's user name, as admission sees it. */}}
{{- define "oikos.controllerUsername" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "oikos.serviceAccountName" . }}
{{- end -}}

{{/* Whether a Message holds a person's words. */}}
{{- define "oikos.isOfAnOperator" -}}
object.spec.kind == 'Answer'
{{- end -}}

{{/* The namespaces whose Secrets the controller may read, as a JSON list. */}}
{{- define "oikos.secretNamespaces" -}}
{{- if .Values.rbac.secretNamespaces -}}
{{- .Values.rbac.secretNamespaces | toJson -}}
{{- else -}}
{{- compact (list .Values.watchNamespace) | toJson -}}
{{- end -}}
{{- end -}}

{{- define "oikos.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "oikos.labels" -}}
{{ include "oikos.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "oikos.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}
