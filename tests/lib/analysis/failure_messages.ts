/** Messages as test frameworks write them: those of one list have one cause, those of two have not. */
export const CAUSES: readonly (readonly string[])[] = [
  // pytest
  [
    "AssertionError: assert 3 == 4",
    "AssertionError: assert 3 == 5",
    "AssertionError: assert 12 == 1024",
  ],
  ["assert 500 == 200", "assert  500 == 200"],
  ["assert 404 == 200"],
  ["assert 200 == 500"],
  ["assert <Response [503]>.ok"],
  ["assert <Response [502]>.ok"],
  ["assert [1, 2, 3] == [1, 2, 4]", "assert [7, 8, 9] == [7, 8, 10]"],
  ["assert [1, 2] == [1, 2, 4]"],
  [
    "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pytest-of-ci/pytest-12/test_upload0/cart.json'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pytest-of-root/pytest-0/test_upload1/cart.json'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/private/var/folders/zz/zyxvpxvq6csfxvn/T/tmpa8s7df/cart.json'",
  ],
  [
    "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pytest-of-ci/pytest-12/test_upload0/users.json'",
  ],
  [
    "PermissionError: [Errno 13] Permission denied: '/tmp/tmp5x9q_2ab'",
    "PermissionError: [Errno 13] Permission denied: '/tmp/tmpk2jd81zz'",
  ],
  [
    "requests.exceptions.ConnectionError: HTTPConnectionPool(host='localhost', port=8081): Max retries exceeded with url: /cart (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f1c2a3b4c50>: Failed to establish a new connection: [Errno 111] Connection refused'))",
    "requests.exceptions.ConnectionError: HTTPConnectionPool(host='localhost', port=39217): Max retries exceeded with url: /cart (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7fe09d11a310>: Failed to establish a new connection: [Errno 111] Connection refused'))",
  ],
  [
    "requests.exceptions.ConnectionError: HTTPConnectionPool(host='localhost', port=39217): Max retries exceeded with url: /cart (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7fe09d11a310>: Failed to establish a new connection: [Errno 113] No route to host'))",
  ],
  [
    "KeyError: UUID('6f1c9a52-0d3e-4c1b-9a77-3a5f0f6f7c11')",
    "KeyError: UUID('b2d5e7f0-1111-4222-8333-944455566677')",
  ],
  ["TypeError: cannot convert int32 to int64", "TypeError: cannot  convert int32 to int64"],
  ["TypeError: cannot convert int64 to int32"],
  ["UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"],
  ["UnicodeDecodeError: 'utf-16' codec can't decode byte 0xff in position 0: invalid start byte"],

  // Jest and Vitest
  [
    'Error: thrown: "Exceeded timeout of 5000 ms for a test.',
    'Error: thrown: "Exceeded timeout of 30000 ms for a test.',
  ],
  ["Error: expect(received).toBe(expected) // Object.is equality"],
  ["Error: expect(received).toEqual(expected) // deep equality"],
  ["expected 3 to be 4 // Object.is equality", "expected 3 to be 5 // Object.is equality"],
  ["expected 3 to deeply equal 4", "expected 17 to deeply equal 4"],
  [
    "TypeError: Cannot read properties of undefined (reading 'id')",
    "TypeError:  Cannot read properties of undefined (reading 'id')",
  ],
  ["TypeError: Cannot read properties of undefined (reading 'name')"],
  [
    "Error: connect ECONNREFUSED 127.0.0.1:5432",
    "Error: connect ECONNREFUSED ::1:5432",
    "Error: connect ECONNREFUSED 172.18.0.3:6543",
  ],
  ["Error: connect ETIMEDOUT 172.18.0.3:6543", "Error: connect ETIMEDOUT 172.18.0.4:5432"],
  [
    "AxiosError: Request failed with status code 503",
    "AxiosError:\tRequest failed with status code 503",
  ],
  ["AxiosError: Request failed with status code 504"],
  ['Error: expected 200 "OK", got 500 "Internal Server Error"'],
  ['Error: expected 200 "OK", got 404 "Not Found"'],
  ["expected 200, got 500"],
  ["expected 200, got 404"],
  ["expected 200 rows, got 500 rows", "expected 200 rows, got 404 rows"],
  [
    "ENOENT: no such file or directory, open '/tmp/jest_9f8s7d/snapshot.json'",
    "ENOENT: no such file or directory, open '/var/tmp/jest_0a/snapshot.json'",
  ],
  [
    "ENOENT: no such file or directory, open 'C:\\Users\\runneradmin\\AppData\\Local\\Temp\\jest_11ab\\snapshot.json'",
    "ENOENT: no such file or directory, open 'D:\\Temp\\jest_7\\snapshot.json'",
  ],

  // Playwright and Cypress
  [
    "TimeoutError: locator.click: Timeout 30000ms exceeded.",
    "TimeoutError: locator.click: Timeout 5000ms exceeded.",
    "TimeoutError: locator.click: Timeout 2.5s exceeded.",
  ],
  ["TimeoutError: locator.fill: Timeout 30000ms exceeded."],
  [
    "cart.spec.ts:12:5 cart › shows the total",
    "cart.spec.ts:14:5 cart › shows the total",
  ],
  ["cart.spec.ts:12:5 cart › shows the discount"],
  [
    "Error: page.goto: net::ERR_CONNECTION_REFUSED at http://localhost:3000/",
    "Error: page.goto: net::ERR_CONNECTION_REFUSED at http://localhost:41873/",
  ],
  ["Error: page.goto: net::ERR_NAME_NOT_RESOLVED at http://localhost:3000/"],
  [
    'AssertionError: Timed out retrying after 4000ms: Expected to find element: `[data-id="order-1042"]`, but never found it.',
    'AssertionError: Timed out retrying after 10050ms: Expected to find element: `[data-id="order-77"]`, but never found it.',
  ],

  // JUnit 4 and 5, AssertJ, Mockito
  ["expected:<3> but was:<4>", "expected:<3> but was:<5>"],
  [
    "org.opentest4j.AssertionFailedError: expected: <3> but was: <4>",
    "org.opentest4j.AssertionFailedError: expected: <10> but was: <-4>",
  ],
  ["org.opentest4j.AssertionFailedError: expected: <200> but was: <500>"],
  ["org.opentest4j.AssertionFailedError: expected: <200> but was: <404>"],
  ["org.opentest4j.AssertionFailedError: expected: <true> but was: <false>"],
  [
    "expected: com.acme.shop.Coupon@4e50df2e but was: com.acme.shop.Coupon@1b6d3586",
    "expected: com.acme.shop.Coupon@7a81197d but was: com.acme.shop.Coupon@5ca881b5",
  ],
  [
    "java.net.SocketTimeoutException: Read timed out after 30000 ms at inventory-service:8443",
    "java.net.SocketTimeoutException: Read timed out after 1,500 ms at inventory-service:9443",
  ],
  ["java.net.SocketTimeoutException: Read timed out after 30000 ms at payment-service:8443"],
  [
    "Condition with com.acme.shop.OrderTest was not fulfilled within 10 seconds.",
    "Condition with com.acme.shop.OrderTest was not fulfilled within 2 minutes.",
  ],
  [
    "org.postgresql.util.PSQLException: Connection to 10.0.3.17:5432 refused. Check that the hostname and port are correct",
    "org.postgresql.util.PSQLException: Connection to 10.0.9.201:5433 refused. Check that the hostname and port are correct",
  ],
  ["java.sql.SQLException: ORA-00942: table or view does not exist"],
  ["java.sql.SQLException: ORA-00001: table or view does not exist"],
  [
    "test timed out after 5000 milliseconds",
    "test timed out after 60 seconds",
  ],

  // Go and testify
  [
    "cart_test.go:42: got 3, want 4",
    "cart_test.go:48: got 7, want 4",
  ],
  ["cart_test.go:42: got 500, want 200"],
  ["cart_test.go:42: got 404, want 200"],
  [
    "dial tcp 127.0.0.1:35791: connect: connection refused",
    "dial tcp [::1]:40233: connect: connection refused",
  ],
  [
    "panic: test timed out after 10m0s",
    "panic: test timed out after 1m30.5s",
  ],
  [
    "context deadline exceeded (2.00s)",
    "context deadline exceeded (312ms)",
  ],
  [
    "panic: runtime error: index out of range [5] with length 3",
    "panic: runtime error: index out of range [12] with length 12",
  ],
  [
    "panic: runtime error: invalid memory address or nil pointer dereference [recovered] goroutine 18 [running] at 0xc000123456",
    "panic: runtime error: invalid memory address or nil pointer dereference [recovered] goroutine 7 [running] at 0xc0000aa018",
  ],
  ["exit status 1"],
  ["exit status 2"],
  ["signal: killed"],

  // Rust
  [
    "thread 'tests::reserves_last_item' panicked at src/stock.rs:48:9:",
    "thread 'tests::reserves_last_item' panicked at src/stock.rs:51:13:",
  ],
  ["thread 'tests::returns_item' panicked at src/stock.rs:48:9:"],
  [
    'called `Result::unwrap()` on an `Err` value: Os { code: 111, kind: ConnectionRefused, message: "Connection refused" }',
  ],
  [
    "Error: Connection refused (os error 111)",
    "Error:  Connection refused (os error 111)",
  ],
  ["Error: Connection refused (os error 61)"],
  ["process exited with code 101", "process  exited with code 101"],
  ["process exited with code 137"],

  // RSpec and Minitest
  [
    "expected #<Order:0x00007f16a8b2c3d8 @id=1> to be persisted",
    "expected #<Order:0x00007fa200112233 @id=4711> to be persisted",
  ],
  [
    "ActiveRecord::RecordNotFound: Couldn't find Order with 'id'=1042",
    "ActiveRecord::RecordNotFound: Couldn't find Order with 'id'=77",
  ],
  ["ActiveRecord::RecordNotFound: Couldn't find User with 'id'=1042"],
  [
    "PG::UniqueViolation: ERROR: duplicate key value violates unique constraint \"index_users_on_email\" DETAIL: Key (token)=('tok_9f8s7d6f5a4s') already exists.",
    "PG::UniqueViolation: ERROR: duplicate key value violates unique constraint \"index_users_on_email\" DETAIL: Key (token)=('tok_1a2b3c4d5e6f') already exists.",
  ],
  [
    "PG::UniqueViolation: ERROR: duplicate key value violates unique constraint \"index_orders_on_number\" DETAIL: Key (token)=('tok_1a2b3c4d5e6f') already exists.",
  ],
  [
    "Net::ReadTimeout with #<TCPSocket:(closed)> after 60.0 seconds",
    "Net::ReadTimeout with #<TCPSocket:(closed)> after 0.75 seconds",
  ],

  // .NET
  ["Assert.Equal() Failure: Values differ", "Assert.Equal()  Failure: Values differ"],
  [
    "Expected: 3 But was: 4",
    "Expected: 3 But was: 5",
  ],
  [
    "System.TimeoutException : The operation did not complete within 00:00:30.5000000",
    "System.TimeoutException : The operation did not complete within 00:01:00",
  ],
  [
    "System.Net.Http.HttpRequestException : Response status code does not indicate success: 503 (Service Unavailable).",
  ],
  [
    "System.Net.Http.HttpRequestException : Response status code does not indicate success: 429 (Too Many Requests).",
  ],
  [
    "Order created at 2026-03-14T09:26:53.589Z is older than 2026-03-14T09:26:53.591Z",
    "Order created at 2025-12-31 23:59:59+01:00 is older than 2026-01-01 00:00:00 UTC",
  ],
  [
    "certificate expired on Sat, 14 Mar 2026 09:26:53 GMT",
    "certificate expired on Tue, 3 Nov 2026 10:00:00 GMT",
  ],
  [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 is not an ancestor",
    "commit 83fd0fa1 is not an ancestor",
  ],
  [
    'session "eyJhbGciOiJIUzI1NiJ9" has expired',
    'session "R4nd0mT0k3nV4lu3" has expired',
  ],
  ['session "checkout" has expired'],

  // What varies, in any language
  [
    "licence expired at Sat Mar 14 09:26:53 UTC 2026",
    "licence expired at Thu Dec  3 19:26:53 CET 2026",
    "licence expired at Sun Nov  1 09:26:53 2026",
    "licence expired at 14/Mar/2026:09:26:53 +0000",
    "licence expired at 03-Dec-26",
    "licence expired at 14 Mar 26 09:26 UTC",
    "licence expired at December 3, 2026",
    "licence expired at Saturday, March 14, 2026 at 9:26:53 AM",
    "licence expired at Dec 3, 2026, 10:06 PM",
    "licence expired at Dec  3 09:26:53.589",
    "licence expired at Saturday, 14-Mar-26 09:26:53 UTC",
    "licence expired at 9:26:53 AM",
    "licence expired at 10:26:53\u202fPM",
    "licence expired at 9:26 PM",
    "licence expired at 2:05:07",
  ],
  ["closed on 3/14/2026 9:26:53 AM", "closed on 12/3/2026 10:06:00 PM"],
  ["closed on Sunday"],
  ["closed on Monday"],
  [
    "no answer within PT2M3.5S",
    "no answer within PT0.000123S",
    "no answer within 1 minute",
    "no answer within 2 minutes and 30 seconds",
    "no answer within 1m 30s",
    "no answer within 0.51 s",
    "no answer within 9.1e-05 seconds",
    "no answer within -3ms",
  ],
  ["used 980 MB of the heap", "used 1.2 GB of the heap", "used 17 bytes of the heap"],
  [
    "found 1 match in 1 box",
    "found 3 matches in 2 boxes",
    "found 0 matches in 12 boxes",
  ],
  ["found 1 entry in 1 box"],
  ["the 1st call has 2 arguments", "the 22nd call has 1 argument"],
  ["balance is '-3'", "balance is '4'"],
  [
    "no pod web-7d4b9c6f5d-x8k2p",
    "no pod web-5f8c9d7b4-2mwq7",
    "no pod web-vrhmqxgj7-bdgkz",
  ],
  ['pods "web-7d4b9c6f5d-x8k2p" not found', 'pods "web-vrhmqxgj7-bdgkz" not found'],
  [
    "cannot delete my-topicd1f2a3b4-0d3e-4c1b-9a77-3a5f0f6f7c11",
    "cannot delete my-topic6f1c9a52-1111-4222-8333-944455566677",
  ],
  [
    "waited datetime.timedelta(seconds=3)",
    "waited datetime.timedelta(days=1, seconds=3, microseconds=100)",
    "waited datetime.timedelta(microseconds=7)",
    "waited datetime.timedelta(0)",
  ],
  [
    "due datetime.datetime(2026, 3, 14, 9, 26)",
    "due datetime.datetime(2026, 3, 14, 9, 26, 53, 589)",
  ],
  ["due datetime.datetime(2026, 3, 14, 9, 26, tzinfo=datetime.timezone.utc)"],
  ["no pod api-7d4b9c6f5d-x8k2p"],
  ["no image redis-mssql"],
  ["no image redis-pgsql"],
  ["no order 01HZX3K8Q2T9V7B5N4M6P8R0S1", "no order 01J0A7C9D3F5G8H2K4M6N7P9Q0"],
  ['no order "a1b2c3d4"', 'no order "abcdef12"', 'no order "12345678"'],
  [
    "left: {data-0}{8dJ56yvjRryDnRB0FnuB1A}{127.0.0.1:38815}",
    "left: {data-1}{oFHFiwx5Tb6si5JhOSp8OA}{[::1]:9300}",
  ],
  ["commit 83fd0fa differs", "commit 0c1d2e3 differs"],
  [
    "no lease for 02:42:ac:11:00:02",
    "no lease for fe80:0:0:0:42:acff:fe11:2",
    "no lease for 10.0.3.17",
  ],
  ["expected:<[]> but was:<[3]>"],
  ["expected:<[3]> but was:<[]>"],
  ["expected:<false> but was:<true>"],
  ["java.lang.NoClassDefFoundError: shop/Log4j2Appender"],
  ["java.lang.NoClassDefFoundError: shop/Log4j2Layout"],
  ["no bean of type OAuth2ClientToken"],
  ["no bean of type OAuth2ServerToken"],

  // Names of source code that have digits, and codes
  [
    "Cannot read properties of undefined (reading 'shippingAddressLine1')",
    "Cannot read properties of undefined (reading 'shippingAddressLine2')",
  ],
  ["Cannot read properties of undefined (reading 'customerPhoneNumber2')"],
  ["KeyError: 'shippingaddressline1'", "KeyError: 'shippingaddressline2'"],
  ["KeyError: 'customerphonenumber2'"],
  ["no column 'SHIPPINGADDRESSLINE1'"],
  ["no column 'CUSTOMERPHONENUMBER2'"],
  [
    "no key 'hzqwkvxbtrpldmfngcs7'",
    "no key 'QWKVXBTRPLDMFNGCSHZ42'",
    "no key 'k2jx8v9wq0zlm4n7p1rt'",
  ],
  ["KeyError: 'base64EncodedPayload'"],
  ["KeyError: 'oauth2ClientCredentials'"],
  ['Unable to find an element by: [data-testid="step2ConfirmationButton"]'],
  ['Unable to find an element by: [data-testid="step2ShippingAddressForm"]'],
  ["TypeError: convertV1OrderToV2Order is not a function"],
  ["TypeError: migrateV1CustomerToV2Account is not a function"],
  ['no schema "google.pubsub.v1beta2.Publisher"', 'no schema "google.pubsub.v1beta1.Publisher"'],
  ['no schema "google.spanner.v1beta2.Publisher"'],
  [
    "no session 'Wut0kx8jt48JyuDhbnj9'",
    "no session 'iRc5P7kPq0aXWj2Vd8Ls'",
  ],
  ["Process finished with code 137"],
  ["Process finished with code 1"],
  ["Request failed with code 500"],
  ["Request failed with code 404"],
  ["DB2 SQL Error: SQLCODE=-803"],
  ["DB2 SQL Error: SQLCODE=-911"],
];
