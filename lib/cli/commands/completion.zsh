#compdef test-analytics
_test_analytics() {
  local at= word
  for word in "${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in {paths}) at="$at $word" ;; esac
  done
  _offer() {
    if [[ $PREFIX == -* ]]; then compadd -- ${=2}; else compadd -- ${=1}; _files; fi
  }
  case "$at" in
{cases}
  esac
}
compdef _test_analytics test-analytics
