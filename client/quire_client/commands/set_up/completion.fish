# Completion of quire for fish, made by `quire completion fish`.
function __quire_words
    set -l current (commandline -ct)
    for line in (quire completion words -- (commandline -opc)[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path $current
            case ':folders'
                __fish_complete_directories $current
            case '*'
                echo $line
        end
    end
end
complete -c quire -f -a '(__quire_words)'
