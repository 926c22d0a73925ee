search=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# Directories that only this login knows come last.
IFS=:
for part in $PATH; do
    case ":$search:" in
    *":$part:"*) ;;
    *) search=$search:$part ;;
    esac
done
unset IFS
PATH=$search
export PATH
unset ENV BASH_ENV CDPATH
LC_ALL=C
export LC_ALL
umask 022
cd /root 2>/dev/null || cd /
# A host may keep run directories elsewhere: SetEnv OIKOS_RUNS=... in its sshd_config.
runs=${OIKOS_RUNS:-$runs}
dir=$runs/$id
