/** Failures with stack traces as test frameworks write them, the same for the same seed. */
import { Random } from "./random.ts";

/** What a report has of a failure. */
export interface Failure {
  message: string;
  body: string;
}

// Of three failures one has a new text; the others repeat one of the latest, this many of them.
const NEW_SHARE = 1 / 3;
const REPEATED_TEXTS = 200;

const MODULES = ["cart", "checkout", "inventory", "payment", "search", "shipping", "mail", "users"];

/** Yields failures for ever. */
export function* failures(seed: number): Generator<Failure, never> {
  const random = new Random(seed);
  const known: Failure[] = [];
  for (;;) {
    if (known.length === 0 || random.next() < NEW_SHARE) {
      const made = pick(random, LANGUAGES)(random);
      known[known.length < REPEATED_TEXTS ? known.length : random.below(REPEATED_TEXTS)] = made;
      yield made;
    } else {
      yield pick(random, known);
    }
  }
}

const LANGUAGES: ((random: Random) => Failure)[] = [
  pytest,
  jest,
  playwright,
  junit,
  go,
  rust,
  rspec,
  dotnet,
];

function pytest(random: Random): Failure {
  const module = pick(random, MODULES);
  const status = pick(random, [404, 500, 502, 503]);
  const message = `AssertionError: assert ${status} == 200`;
  return {
    message,
    body: [
      `client = <httpx.Client object at 0x7f${random.hex(10)}>`,
      "",
      `    def test_${module}_of_a_new_customer(client):`,
      `        response = client.get("/${module}/${random.below(100_000)}")`,
      ">       assert response.status_code == 200",
      `E       assert ${status} == 200`,
      `E        +  where ${status} = <Response [${status}]>.status_code`,
      "",
      `tests/test_${module}.py:${random.below(400)}: AssertionError`,
      "----------------------------- Captured log call -----------------------------",
      ...repeat(
        random,
        6,
        () =>
          `INFO     httpx:_client.py:${random.below(1_800)} HTTP Request: GET ` +
          `http://127.0.0.1:${port(random)}/${pick(random, MODULES)} "HTTP/1.1 200 OK" ` +
          clock(random),
      ),
    ].join("\n"),
  };
}

function jest(random: Random): Failure {
  const module = pick(random, MODULES);
  const message = "Error: expect(received).toEqual(expected) // deep equality";
  return {
    message,
    body: [
      message,
      "",
      "- Expected  - 1",
      "+ Received  + 1",
      "",
      "  Object {",
      `-   "id": "${random.hex(24)}",`,
      `+   "id": "${random.hex(24)}",`,
      `    "updatedAt": "${clock(random)}",`,
      "  }",
      ...jsFrames(random, module),
    ].join("\n"),
  };
}

function playwright(random: Random): Failure {
  const module = pick(random, MODULES);
  const line = random.below(300);
  const message = `${module}.spec.ts:${line}:7 ${module} shows the new order`;
  return {
    message,
    body: [
      `  [chromium] › ${module}.spec.ts:${line}:7 › ${module} shows the new order`,
      "",
      `    TimeoutError: locator.click: Timeout ${5_000 + 5_000 * random.below(6)}ms exceeded.`,
      "    Call log:",
      `      - waiting for getByTestId('${module}-${random.below(10_000)}')`,
      ...repeat(
        random,
        8,
        () =>
          `      -   ${
            random.below(60)
          } × waiting for element to be visible, enabled and stable, ` +
          `retrying in ${random.below(500)}ms`,
      ),
      ...jsFrames(random, module),
    ].join("\n"),
  };
}

function jsFrames(random: Random, module: string): string[] {
  return repeat(random, 7, () => {
    const line = `${random.below(900)}:${random.below(80)}`;
    return pick(random, [
      `    at async ${module}Page.open (/builds/acme/shop/e2e/pages/${module}.ts:${line})`,
      `    at Object.<anonymous> (/builds/acme/shop/src/${module}/__tests__/${module}.test.ts:${line})`,
      `    at new Promise (<anonymous>)`,
      `    at processTicksAndRejections (node:internal/process/task_queues:${line})`,
    ]);
  });
}

function junit(random: Random): Failure {
  const module = pick(random, MODULES);
  const className = module[0]!.toUpperCase() + module.slice(1);
  const message = "java.net.SocketTimeoutException: Read timed out after " +
    `${1_000 * (1 + random.below(30))} ms at ${module}-service/10.0.${random.below(255)}.` +
    `${random.below(255)}:${port(random)}`;
  return {
    message,
    body: [
      message,
      ...repeat(random, 18, () =>
        pick(random, [
          `\tat com.example.shop.${module}.${className}Client.call(${className}Client.java:` +
          `${random.below(600)})`,
          `\tat com.example.shop.${module}.${className}Test$Nested.handles(${className}Test.java:` +
          `${random.below(600)})`,
          `\tat java.base/jdk.internal.reflect.DirectMethodHandleAccessor.invoke(` +
          `DirectMethodHandleAccessor.java:103)`,
          `\tat com.example.shop.http.RetryingClient$$Lambda/0x${
            random.hex(16)
          }.get(Unknown Source)`,
          `\tat org.junit.platform.engine.support.hierarchical.NodeTestTask.lambda$execute$` +
          `${random.below(12)}(NodeTestTask.java:${random.below(200)})`,
        ])),
      `Caused by: java.io.IOException: connection ${uuid(random)} was closed`,
      `\t... ${random.below(90)} more`,
    ].join("\n"),
  };
}

function go(random: Random): Failure {
  const module = pick(random, MODULES);
  const message = "Failed";
  return {
    message,
    body: [
      `=== RUN   Test${module}`,
      `    ${module}_test.go:${random.below(400)}: `,
      `        \tError Trace:\t/builds/acme/shop/${module}/${module}_test.go:${random.below(400)}`,
      "        \tError:      \tReceived unexpected error:",
      `        \t            \tdial tcp 127.0.0.1:${port(random)}: connect: connection refused`,
      `        \tTest:       \tTest${module}/with_${random.below(20)}_items`,
      `goroutine ${random.below(500)} [running]:`,
      ...repeat(
        random,
        5,
        () =>
          `github.com/acme/shop/${module}.(*Store).Open(0xc000${random.hex(6)}, {0x${
            random.hex(6)
          }, ` +
          `0x${random.hex(2)}})\n\t/builds/acme/shop/${module}/store.go:${random.below(400)} ` +
          `+0x${random.hex(3)}`,
      ),
      `--- FAIL: Test${module} (${seconds(random)}s)`,
    ].join("\n"),
  };
}

function rust(random: Random): Failure {
  const module = pick(random, MODULES);
  const place = `crates/${module}/src/lib.rs:${random.below(900)}:${random.below(60)}`;
  const message = `thread 'tests::${module}_is_stable' panicked at ${place}`;
  return {
    message,
    body: [
      `${message}:`,
      "assertion `left == right` failed",
      `  left: ${random.below(1_000)}`,
      ` right: ${random.below(1_000)}`,
      "stack backtrace:",
      ...repeat(
        random,
        10,
        (number) =>
          `${String(number).padStart(4)}:     0x${random.hex(12)} - ` +
          pick(random, [
            "core::panicking::assert_failed_inner",
            `${module}::tests::${module}_is_stable::{{closure}}`,
            "std::panicking::begin_panic_handler",
            "tokio::runtime::scheduler::current_thread::CoreGuard::block_on",
          ]),
      ),
    ].join("\n"),
  };
}

function rspec(random: Random): Failure {
  const module = pick(random, MODULES);
  const message = `Failure/Error: expect(page).to have_content ${module}.number`;
  return {
    message,
    body: [
      message,
      "",
      `  expected: ${random.below(50)}`,
      `       got: ${random.below(50)}`,
      "",
      `  #<Order:0x${random.hex(16)} @id=${random.below(1e6)}, @at=${clock(random)}>`,
      ...repeat(
        random,
        6,
        () =>
          `# ./spec/features/${module}_spec.rb:${random.below(200)}:in 'block (${
            2 + random.below(3)
          } levels) in <top (required)>'`,
      ),
    ].join("\n"),
  };
}

function dotnet(random: Random): Failure {
  const module = pick(random, MODULES);
  const message = "System.TimeoutException : The operation did not complete within " +
    `00:00:${10 + random.below(50)}.${random.below(1e7)}`;
  return {
    message,
    body: [
      message,
      ...repeat(
        random,
        9,
        () =>
          `   at Acme.Shop.${module}.Tests.OrderTests.<Handles>d__${
            random.below(40)
          }.MoveNext() in ` +
          `/_/tests/${module}/OrderTests.cs:line ${random.below(500)}`,
      ),
      "--- End of stack trace from previous location ---",
    ].join("\n"),
  };
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[random.below(from.length)]!;
}

function repeat(random: Random, most: number, line: (number: number) => string): string[] {
  const count = Math.ceil(most / 2) + random.below(Math.ceil(most / 2));
  return Array.from({ length: count }, (_, number) => line(number));
}

function port(random: Random): number {
  return 1_024 + random.below(60_000);
}

function clock(random: Random): string {
  return new Date(1.79e12 + random.below(1e9)).toISOString();
}

function seconds(random: Random): string {
  return (random.next() * 10).toFixed(2);
}

function uuid(random: Random): string {
  return random.hex(32).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
