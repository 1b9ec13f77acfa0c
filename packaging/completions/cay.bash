# SPDX-License-Identifier: Apache-2.0
# Completion of cay for bash. It asks cay itself for verbs, options and sandboxes, so it knows what the installed one knows.

_cay_options()
{
        "$@" --help 2>/dev/null | sed -n 's/^ \{1,\}\(--[a-z][a-z.-]*\).*/\1/p'
}

_cay_words()
{
        local cay=$1 verb=$2 sort
        sort=$("$cay" completion words "$verb" 2>/dev/null)
        case $verb:$sort in
        help:*) "$cay" completion verbs ;;
        api:*) "$cay" completion operations ;;
        cp:*) "$cay" completion sandboxes 2>/dev/null | sed 's/$/:/' ;;
        *:id*) "$cay" completion sandboxes 2>/dev/null ;;
        create:* | template:*) "$cay" completion templates 2>/dev/null ;;
        completion:*) printf '%s\n' verbs words sandboxes templates operations ;;
        esac
}

_cay()
{
        local cay=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} cur=${COMP_WORDS[COMP_CWORD]} words
        COMPREPLY=()
        if ((COMP_CWORD == 1)); then
                words=$("$cay" completion verbs)
        elif [[ $cur == -* && $verb == api && ${COMP_WORDS[2]} != -* ]]; then
                words=$(_cay_options "$cay" api "${COMP_WORDS[2]}")
        elif [[ $cur == -* ]]; then
                words=$(_cay_options "$cay" "$verb")
        else
                words=$(_cay_words "$cay" "$verb")
        fi
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]]; then
                compopt -o nospace 2>/dev/null
        fi
}

complete -o bashdefault -o default -F _cay cay
