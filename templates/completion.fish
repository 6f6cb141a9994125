# atlas: completion for fish
function __atlas_complete
    set -l part (commandline -ct)
    set -l found (atlas completion fish -- (commandline -opc) "$part" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$part"
    end
end
complete -c atlas -f -k -a '(__atlas_complete)'
