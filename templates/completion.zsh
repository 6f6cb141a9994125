#compdef atlas
_atlas() {
    local -a found
    found=("${(@f)$(atlas completion zsh -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then _describe atlas found; else _files; fi
}
if [[ "$funcstack[1]" == _atlas ]]; then _atlas "$@"; else compdef _atlas atlas; fi
