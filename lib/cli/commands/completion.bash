_test_analytics() {
  local at= cur=${COMP_WORDS[COMP_CWORD]} word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in {paths}) at="$at $word" ;; esac
  done
  _offer() {
    [[ $cur == -* ]] && shift
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
  }
  case "$at" in
{cases}
  esac
}
complete -o default -F _test_analytics test-analytics
