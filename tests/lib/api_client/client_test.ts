import { afterEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import * as v from "valibot";
import { type ApiClientOptions, createApiClient } from "../../../lib/api_client/client.ts";
import { FAKE_TOKEN, type FakeApi, startFakeApi } from "./fake_api.ts";

const REQUEST = { path: ["api"], notFound: "No such thing." };
const TEXT = v.string();

const running: FakeApi[] = [];

function start(...args: Parameters<typeof startFakeApi>): FakeApi {
  const api = startFakeApi(...args);
  running.push(api);
  return api;
}

function clientOf(baseUrl: string, options: Partial<ApiClientOptions> = {}) {
  return createApiClient({
    baseUrl,
    token: FAKE_TOKEN,
    userAgent: "test-analytics-mcp/1.2.3",
    timeoutMs: 60_000,
    ...options,
  });
}

describe("the API client", () => {
  afterEach(async () => {
    for (const api of running.splice(0)) await api.close();
  });

  it("sends requests below the path prefix, with token and user agent", async () => {
    const api = start(() => new Response("fine"));
    const client = clientOf(`${api.url}/some/prefix`);
    const path = ["api", "repos", "group/sub", "a b"];
    assert.equal(
      await client({ ...REQUEST, path, query: { q: "x>=1", after: undefined } }, TEXT),
      "fine",
    );
    const [request] = api.received;
    assert.equal(request?.url, "/some/prefix/api/repos/group%2Fsub/a%20b?q=x%3E%3D1");
    assert.equal(request?.method, "GET");
    assert.equal(request?.headers.get("authorization"), `Bearer ${FAKE_TOKEN}`);
    assert.equal(request?.headers.get("user-agent"), "test-analytics-mcp/1.2.3");
  });

  it("rejects path segments that URL parsing would remove", async () => {
    const api = start(() => new Response("fine"));
    for (const part of [".", ".."]) {
      await assert.rejects(
        clientOf(api.url)({ ...REQUEST, path: ["api", "repos", part] }, TEXT),
        { message: REQUEST.notFound },
      );
    }
    assert.equal(api.received.length, 0);
  });

  it("retries transient statuses once", async () => {
    for (const status of [502, 503, 504]) {
      const api = start((_request, index) =>
        index === 0 ? new Response("busy", { status }) : new Response("fine")
      );
      assert.equal(await clientOf(api.url)(REQUEST, TEXT), "fine");
      assert.equal(api.received.length, 2);
    }
  });

  it("retries once when the connection breaks during a response", async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const served = (async () => {
      for (const body of ["fi", "fine"]) {
        using connection = await listener.accept();
        await connection.read(new Uint8Array(4096));
        const answer = `HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\n${body}`;
        await connection.write(new TextEncoder().encode(answer));
      }
    })();
    const client = clientOf(`http://127.0.0.1:${listener.addr.port}`);
    assert.equal(await client(REQUEST, TEXT), "fine");
    await served;
    listener.close();
  });

  it("gives up after the second attempt", async () => {
    const api = start(() => new Response(null, { status: 503 }));
    await assert.rejects(
      clientOf(api.url)(REQUEST, TEXT),
      { message: /failed \(status 503\)/ },
    );
    assert.equal(api.received.length, 2);
  });

  it("does not retry permanent failures", async () => {
    for (const status of [400, 401, 404, 500]) {
      const api = start(() => new Response(null, { status }));
      await assert.rejects(clientOf(api.url)(REQUEST, TEXT));
      assert.equal(api.received.length, 1);
    }
  });

  it("names an unreachable address", async () => {
    const api = startFakeApi(() => new Response());
    await api.close();
    await assert.rejects(clientOf(api.url)(REQUEST, TEXT), (error: Error) => {
      assert.ok(error.message.includes(`${api.url} cannot be reached`), error.message);
      assert.match(error.message, /PLATFORM_API_URL/);
      return true;
    });
  });

  it("times out", async () => {
    const late = Promise.withResolvers<Response>();
    const api = start(() => late.promise);
    const client = clientOf(api.url, { timeoutMs: 50 });
    await assert.rejects(
      client(REQUEST, TEXT),
      { name: "ApiError", message: /did not answer within 0.05 seconds/ },
    );
    assert.equal(api.received.length, 1);
    late.resolve(new Response());
  });

  it("stops when the call is cancelled", async () => {
    const late = Promise.withResolvers<Response>();
    const api = start(() => late.promise);
    const controller = new AbortController();
    const answer = clientOf(api.url)(REQUEST, TEXT, controller.signal);
    setTimeout(() => controller.abort(), 20);
    await assert.rejects(answer, { name: "AbortError" });
    late.resolve(new Response());
  });

  it("does not follow redirects, so that the token stays with the service", async () => {
    const other = start(() => new Response("caught"));
    const location = `${other.url}/api`;
    const api = start(() => Response.redirect(location, 302));
    await assert.rejects(clientOf(api.url)(REQUEST, TEXT), (error: Error) => {
      assert.ok(error.message.includes(`redirects to "${location}"`), error.message);
      assert.match(error.message, /PLATFORM_API_URL/);
      return true;
    });
    assert.equal(other.received.length, 0);
  });

  it("says what to do about a rejected token", async () => {
    const api = start(() => new Response(null, { status: 401 }));
    await assert.rejects(
      clientOf(api.url)(REQUEST, TEXT),
      { message: /rejected the API token.*PLATFORM_API_TOKEN/ },
    );
  });

  it("says that a service whose rejection has a message is not the API", async () => {
    const body = { message: "this port takes uploads" };
    const api = start(() => Response.json(body, { status: 401 }));
    await assert.rejects(
      clientOf(api.url)(REQUEST, TEXT),
      { message: /is not the API \(status 401: "this port takes uploads"\).*PLATFORM_API_URL/ },
    );
  });

  it("lists invalid parameters", async () => {
    const api = start(() => Response.json({ errors: { q: ["one", "two"] } }, { status: 400 }));
    await assert.rejects(
      clientOf(api.url)(REQUEST, TEXT),
      { name: "ApiError", message: /^Invalid arguments: q: one; two\./ },
    );
  });

  it("distinguishes a 404 of the service from one of another program", async () => {
    const json = start(() => Response.json({ message: "Not Found" }, { status: 404 }));
    await assert.rejects(clientOf(json.url)(REQUEST, TEXT), {
      name: "ApiError",
      message: REQUEST.notFound,
    });
    const html = start(() => new Response("<h1>404</h1>", { status: 404 }));
    await assert.rejects(
      clientOf(html.url)(REQUEST, TEXT),
      { name: "ApiError", message: /does not look like this service \(status 404\)/ },
    );
  });

  it("rejects JSON of another shape and text that is not JSON", async () => {
    for (const body of ["<html>", "[]", '{"count":"1"}']) {
      const api = start(() => new Response(body));
      await assert.rejects(
        clientOf(api.url)(REQUEST, v.object({ count: v.number() })),
        { name: "ApiError", message: /does not look like this service/ },
      );
    }
  });

  it("removes the token from errors that echo it", async () => {
    const echo = start((request) =>
      Response.json({ errors: { q: [request.headers.get("authorization")] } }, { status: 400 })
    );
    await assert.rejects(clientOf(echo.url)(REQUEST, TEXT), (error: Error) => {
      assert.ok(!error.message.includes(FAKE_TOKEN));
      assert.match(error.message, /Bearer \[token\]/);
      return true;
    });
  });
});
