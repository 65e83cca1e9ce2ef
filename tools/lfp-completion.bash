# Completion in bash for `lfp`, which answers by itself (lfp/commands/_complete.py). The wheel has it where
# bash-completion looks for it. It is what `_LFP_COMPLETE=bash_source lfp` prints, without starting lfp for it.

_lfp_completion() { # PROGRAM WORD PREVIOUS, as bash calls it
    local IFS=$'\n' line
    COMPREPLY=()
    for line in $(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _LFP_COMPLETE=bash_complete "$1"); do
        case $line in
        plain,*) COMPREPLY+=("${line#plain,}") ;;
        dir,*) compopt -o dirnames ;;
        file,*) compopt -o default ;;
        esac
    done
    if [[ ${COMPREPLY[*]} == *= || ${COMPREPLY[*]} == */ ]]; then compopt -o nospace; fi
}

complete -o nosort -F _lfp_completion lfp
