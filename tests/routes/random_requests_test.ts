/** `deno task prove requests 100000 [SEED]` sends that many; the last tenth goes over a real connection. */
import assert from "node:assert/strict";
import { after, before, it } from "@std/testing/bdd";
import type { RunningServer } from "../../lib/http/server/server.ts";
import { organizationUuid } from "../../lib/base/identity.ts";
import { createLog } from "../../lib/base/log.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { createApp, serve } from "../../routes/mod.ts";
import { describeWithDatabase } from "../database.ts";
import { exchange, parseResponse } from "../raw_http.ts";
import { Contract, seen, type SeenResponse, type SentRequest } from "./contract.ts";
import { createContractFixture } from "./contract_fixture.ts";
import { MALFORMED_MESSAGES } from "./malformed_messages.ts";
import { PAGE_OPERATIONS } from "./page_contract.ts";
import { type Existing, type RandomRequest, randomRequest } from "./random_requests.ts";
import { NOW } from "./fixture.ts";

const [COUNT = 750, SEED = 20_260_921] = numbers(Deno.args);

/** The same ones however few go through the app, so that each status is among them. */
const WIRE_FIRST = Math.max(COUNT, 1_500);

const WIRE_COUNT = Math.max(250, Math.ceil(COUNT / 10));

/** Statuses that must occur. */
const STATUSES = [200, 204, 302, 304, 400, 401, 404, 405];

describeWithDatabase("random requests", (database) => {
  const contract = new Contract();
  const operations = [...contract.operations, ...PAGE_OPERATIONS];
  const errors: string[] = [];
  let existing: Existing;
  let app: (request: Request) => Promise<Response>;
  let server: RunningServer;

  before(async () => {
    const there = await createContractFixture(database());
    const { sql } = database();
    const keepErrors = (line: string) => {
      if (/^\S+ error /.test(line)) errors.push(line);
    };
    const log = createLog({ write: keepErrors, now: () => NOW });
    app = createApp({ sql, now: () => NOW, windowSeconds: WINDOW_SECONDS, log });
    server = serve({ sql, log, host: "127.0.0.1", port: 0, now: () => NOW });
    const etags = await Promise.all(
      ["/health", "/openapi.yaml", "/api/v1/flaky/tests", "/api/repos/acme/shop/tests"].map(
        async (path) => {
          const response = await there.fixture.get(path);
          await response.body?.cancel();
          return response.headers.get("etag")!;
        },
      ),
    );
    const own = organizationUuid(there.fixture.organization.organizationId);
    existing = {
      token: there.fixture.token,
      submissionIds: [there.submissionId, there.submissionId.toUpperCase()],
      testIds: [there.testId, there.quietTestId, there.testId.toUpperCase(), "0".repeat(24)],
      repositoryIds: [there.repositoryNumber, there.otherRepositoryNumber, 0, 77],
      organizationIds: [own, own, own.toUpperCase(), organizationUuid(0)],
      etags,
    };
  });

  after(async () => {
    await server.shutdown();
  });

  /** Asserts what holds for every response. */
  function check(sent: SentRequest, response: SeenResponse) {
    assert.deepEqual(errors, []);
    assert.notEqual(response.status, 500);
    contract.check(sent, response);
  }

  it("get responses that match the contract from the app", async () => {
    const counts = new Map<number, number>();
    for (let number = 0; number < COUNT; number++) {
      const wanted = randomRequest(operations, existing, { seed: SEED, number });
      const { request, target } = requestOf(wanted, { isRaw: number % 2 === 0 });
      await explained(number, wanted, async () => {
        const response = await seen(await app(request));
        check({ method: request.method, target }, response);
        count(counts, response.status);
      });
    }
    report("through the app", counts);
    for (const status of STATUSES) assert.ok(counts.has(status), `${status} happened`);
  });

  it("get responses that match the contract over a connection", async () => {
    const counts = new Map<number, number>();
    let refusedCount = 0;
    for (let number = WIRE_FIRST; number < WIRE_FIRST + WIRE_COUNT; number++) {
      const wanted = randomRequest(operations, existing, { seed: SEED, number });
      await explained(number, wanted, async () => {
        const response = parseResponse(await exchange(server.url, messageOf(wanted)));
        assert.ok(response, "there is an answer");
        // Malformed HTTP is rejected before it reaches the app.
        if (response.headers.has("x-request-id")) {
          check(wanted, response);
          count(counts, response.status);
        } else {
          assertRefused(response);
          refusedCount++;
        }
      });
    }
    report(`over a connection, ${refusedCount} refused before the app`, counts);
    for (const status of STATUSES) assert.ok(counts.has(status), `${status} happened`);
  });

  it("that are malformed are rejected and do not affect others", async () => {
    const counts = new Map<number, number>();
    for (const [name, message] of Object.entries(MALFORMED_MESSAGES)) {
      const bytes = await exchange(server.url, message, { patienceMs: 300 });
      const response = parseResponse(bytes);
      if (response && !response.headers.has("x-request-id")) assertRefused(response, name);
      assert.ok((response?.status ?? 0) < 500, name);
      count(counts, response?.status ?? 0);
      const health = await fetch(`${server.url}/health`);
      assert.equal(await health.text(), '{"status":"ok"}\n', `after ${name}`);
    }
    report("malformed (0: no answer)", counts);
    assert.deepEqual(errors, []);
  });

  /** Names the request when an assertion about its response fails. */
  async function explained(number: number, request: RandomRequest, body: () => Promise<void>) {
    try {
      await body();
    } catch (error) {
      const story = errors.splice(0).join("\n");
      const shown = JSON.stringify(request).replaceAll(existing.token, "TOKEN").slice(0, 5_000);
      throw new Error(`request ${number} of seed ${SEED}: ${shown}\n${story}`, { cause: error });
    }
  }
});

/** Every other request with its target verbatim, as from a server; the others as from a URL. */
function requestOf(
  { method, target, headers }: RandomRequest,
  { isRaw }: { isRaw: boolean },
): { request: Request; target: string } {
  const url = `http://127.0.0.1:8000${target}`;
  if (!isRaw && URL.canParse(url)) {
    const { href, pathname, search } = new URL(url);
    return { request: new Request(href, { method, headers }), target: pathname + search };
  }
  const request = new Request("http://127.0.0.1:8000/", { method, headers });
  Object.defineProperty(request, "url", { value: url });
  return { request, target };
}

/** The bytes of a request. */
function messageOf({ method, target, headers }: RandomRequest): Uint8Array {
  const head = new TextEncoder().encode(`${method} ${target} HTTP/1.1\r\n`);
  const lines = [["Host", "127.0.0.1"], ["Connection", "close"], ...headers];
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("") + "\r\n";
  // Header values are bytes, not UTF-8.
  return new Uint8Array([...head, ...Array.from(text, (character) => character.charCodeAt(0))]);
}

function assertRefused({ status, body }: SeenResponse, name?: string) {
  assert.ok(status >= 400 && status < 500, `${name}: ${status}`);
  assert.equal(body.length, 0, name);
}

function count(counts: Map<number, number>, status: number) {
  counts.set(status, (counts.get(status) ?? 0) + 1);
}

function report(name: string, counts: Map<number, number>) {
  const byStatus = [...counts].sort(([a], [b]) => a - b).map((pair) => pair.join(": "));
  // deno-lint-ignore no-console -- figures for the person who runs it
  console.log(`    ${name}, by status: ${byStatus.join(", ")}`);
}

function numbers(texts: readonly string[]): number[] {
  return texts.map((text) => {
    const number = Number(text);
    if (!Number.isSafeInteger(number) || number < 1) {
      throw new RangeError(
        `"${text}" is not a number of requests or a seed: expected a whole number`,
      );
    }
    return number;
  });
}
