#compdef quire
# Completion of quire for zsh, made by `quire completion zsh`.
_quire() {
    local line paths=
    local -a found
    for line in ${(f)"$(_call_program words quire completion words -- "${(@q)words[2,CURRENT]}" 2>/dev/null)"}; do
        case $line in
            :files|:folders) paths=$line ;;
            *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    (( $#found )) && _describe -t words word found
    case $paths in
        :files) _files ;;
        :folders) _files -/ ;;
    esac
}
if [[ $funcstack[1] == _quire ]]; then
    _quire "$@"
else
    compdef _quire quire
fi
