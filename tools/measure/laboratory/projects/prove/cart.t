use strict;
use warnings;
use Test::More;

pass("passes");
is(1, 2, "always fails");
ok(1, "same name");
ok(0, "same name");
ok(0, "same name, fails first");
ok(1, "same name, fails first");
SKIP: { skip("is skipped", 1) }
done_testing();
