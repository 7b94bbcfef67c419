function __test_analytics_at
  set -l at ""
  for word in (commandline -opc)[2..-1]
    contains -- "$at $word" {paths}; and set at "$at $word"
  end
  test "$at" = "$argv[1]"
end
{lines}
