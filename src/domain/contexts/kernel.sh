# SPDX-License-Identifier: Apache-2.0
# The Bash kernel of a context: runs one piece of code after the other in one shell. docs/contexts.md describes what it reads and
# writes. It is evaluated by a loader that has read it from standard input; requests follow there.
exec {__cay_in}<&0 </dev/null {__cay_out}>&1 {__cay_err}>&2
__cay_count=0 __cay_runs=

# A frame: its kind, its text (at most one piece), the descriptor.
__cay_send() {
        local LC_ALL=C
        printf '\x1e%s%s%04x%s' "$__cay_mark" "$1" "${#2}" "$2" >&"$3"
}

# A variable of one run: __cay_back puts back what it was.
__cay_keep() {
        __cay_back+="unset -v $1;"
        [ -z "${!1+x}" ] || eval "__cay_back+=\${$1@A}\;"
}

__cay_next() {
        local verb len count name size value LC_ALL=C
        while IFS=' ' read -r -u "$__cay_in" verb __cay_mark len count || return; [ "$verb" = interrupt ]; do :; done
        [ "$verb" = run ] || return
        __cay_code= __cay_interrupted= __cay_set= __cay_back=
        for ((; ${count:-0} > 0; count--)); do
                IFS=' ' read -r -u "$__cay_in" name size || return
                value=
                [ "$size" = 0 ] || IFS= read -r -N "$size" -u "$__cay_in" value || return
                printf -v value %q "$value"
                __cay_set+="__cay_keep $name; export $name=$value;"
        done
        [ "$len" = 0 ] || IFS= read -r -N "$len" -u "$__cay_in" __cay_code || return
        __cay_count=$((__cay_count + 1))
        __cay_send B '' "$__cay_out"
        __cay_send B '' "$__cay_err"
        __cay_runs=1
        # A signal until now did not count, but a line of input came before it.
        if read -t 0 -u "$__cay_in"; then
                __cay_interrupted=1 __cay_code=
        fi
}

__cay_end() {
        local name= value=
        __cay_runs=
        if [ -n "$__cay_interrupted" ]; then
                name=Interrupted value='the run was interrupted'
        elif [ "$1" -ne 0 ]; then
                name=ExitStatus value="the last command ended with status $1"
        fi
        [ -z "$name" ] || __cay_send E "{\"name\":\"$name\",\"value\":\"$value\",\"traceback\":\"$name: $value\"}" "$__cay_out"
        __cay_send X '' "$__cay_err"
        __cay_send D "{\"execution_count\":$__cay_count}" "$__cay_out"
        return "$1"
}

# During a run an interrupt breaks out of all loops, of the code's and of this one, which then begins again. The code is evaluated outside of
# functions, or what it declares would be local, and as one group, or its next command would run all the same.
trap '__cay_interrupted=1; [ -z "$__cay_runs" ] || break 1000 2>/dev/null' INT
__cay_loop='
while __cay_next; do
        eval "$__cay_set"
        eval "{ :
$__cay_code
}"
        __cay_status=$?
        eval "$__cay_back"
        __cay_end $__cay_status
done
[ -z "$__cay_interrupted" ] || {
        eval "$__cay_back"
        __cay_end 130
        eval "$__cay_loop"
}'
eval "$__cay_loop"
