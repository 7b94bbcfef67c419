function __test_analytics_words
  if string match -q -- '-*' (commandline -ct)
    string split -- " " $argv[2]
  else
    string split -n -- " " $argv[1]
  end
end
function __test_analytics_offer
  set -l at ""
  for word in (commandline -opc)[2..-1]
    contains -- "$at $word" {paths}; and set at "$at $word"
  end
  switch $at
{cases}
  end
end
complete -c test-analytics -a "(__test_analytics_offer)"
