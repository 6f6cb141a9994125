# atlas: completion for bash
_atlas() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do COMPREPLY+=("$line"); done \
        < <(atlas completion bash -- "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
}
complete -o default -F _atlas atlas
