# Completion of quire for bash, made by `quire completion bash`.
_quire() {
    local typed=${COMP_LINE:0:COMP_POINT} current=${COMP_WORDS[COMP_CWORD]} line last
    [[ $current == [=@] ]] && current=  # bash breaks words there, and takes what is behind
    last=${typed##* }
    last=${last%"$current"}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files) compopt -o filenames 2>/dev/null
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current") ;;
            :folders) compopt -o filenames 2>/dev/null
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$current") ;;
            *) line=${line%%$'\t'*}; COMPREPLY+=("${line#"$last"}") ;;
        esac
    done < <(quire completion line "$typed" 2>/dev/null)
}
complete -F _quire quire
