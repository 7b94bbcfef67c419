-module(cart_tests).
-include_lib("eunit/include/eunit.hrl").

passes_test() -> ok.

always_fails_test() -> ?assertEqual(1, 2).

errors_in_set_up_test_() ->
    {setup, fun() -> error(no_storage) end, [fun() -> ok end]}.

errors_in_tear_down_test_() ->
    {setup, fun() -> ok end, fun(_) -> error(storage_is_still_open) end, [fun() -> ok end]}.

same_name_test_() -> [{"same name", fun() -> ok end}, {"same name", fun() -> ?assertEqual(1, 2) end}].

fails_first_test_() ->
    [{"same name, fails first", fun() -> ?assertEqual(1, 2) end},
     {"same name, fails first", fun() -> ok end}].

times_out_test_() -> {timeout, 1, fun() -> timer:sleep(3000) end}.
