/** A fake service over HTTP for tests of the agent tools. */

/** A request that the service received. */
interface ReceivedRequest {
  method: string;
  /** Path and query as received. */
  url: string;
  headers: Headers;
}

/** A running fake. */
export interface FakeApi {
  /** Base address without a path. */
  url: string;
  received: ReceivedRequest[];
  /** Stops at once, requests in flight included. */
  close(): Promise<void>;
}

/** The token that tests use; not a real one. */
export const FAKE_TOKEN = `tk_${"0123456789abcdef".repeat(4)}`;

/** Serves on a free port; the handler receives each request and its index. */
export function startFakeApi(
  handler: (request: Request, index: number) => Response | Promise<Response>,
): FakeApi {
  const received: ReceivedRequest[] = [];
  const controller = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal: controller.signal, onListen: () => {} },
    (request) => {
      const { pathname, search } = new URL(request.url);
      received.push({ method: request.method, url: pathname + search, headers: request.headers });
      return handler(request, received.length - 1);
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    received,
    close: async () => {
      controller.abort();
      await server.finished;
    },
  };
}

/** The body of a page of the flaky inventory. */
export function flakyPage(
  { count = 1, after = null, message = "expected 3 items, found 2" }: {
    count?: number;
    after?: string | null;
    message?: string;
  } = {},
): Record<string, unknown> {
  return { count, tests: [flakyTest({ message })], metadata: { limit: 25, after } };
}

/** An item of the flaky inventory with all fields that the tools request. */
function flakyTest(
  { name = "adds an item", message = "expected 3 items, found 2" } = {},
): Record<string, unknown> {
  return {
    id: "5f3a9c0e7b12d4a86f01c2e3",
    name,
    suite: "cart",
    class: "shop.CartTest",
    file: "src/cart_test.ts",
    tags: ["linux", "nightly"],
    disruptiveness_ratio: 0.125,
    nondeterministic_negative_result_count: 3,
    disruption_count: 3,
    nondeterminism_first_recorded_at: "2026-01-02T03:04:05Z",
    first_disruption_at: "2026-01-02T03:04:05Z",
    recent_nondeterministic_negative_result: {
      recorded_at: "2026-01-31T08:00:00Z",
      build_url: "https://ci.example.com/builds/7",
      message,
    },
  };
}
