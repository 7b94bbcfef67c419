*** Test Cases ***
Passes
    No Operation

Always Fails
    Should Be Equal As Integers    1    2

Same Name
    No Operation

Same Name
    Should Be Equal As Integers    1    2

Same Name, Fails First
    Should Be Equal As Integers    1    2

Same Name, Fails First
    No Operation

Is Skipped
    Skip    not now

Errors In Tear-Down
    No Operation
    [Teardown]    Fail    storage is still open
