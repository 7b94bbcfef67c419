import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { gunzipSync } from "node:zlib";
import { deleteRepository, type Repository } from "../../db/admin/repositories.ts";
import { routes } from "../../routes/mod.ts";
import { INCLUDE_NAMES } from "../../routes/test_fields.ts";
import { describeWithDatabase } from "../database.ts";
import {
  assertBadRequest,
  assertError,
  createFixture,
  createShop,
  type Fixture,
  flaky,
  idOf,
  NOT_FOUND,
  NOW,
  quarantine,
  request,
} from "./fixture.ts";

type Item = Record<string, unknown>;

/** Reads comma-separated values as RFC 4180 has them; a cell without quotes that is empty is `null`. */
function parseCsv(text: string): (string | null)[][] {
  const lines: (string | null)[][] = [];
  let line: (string | null)[] = [];
  for (
    const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)
  ) {
    line.push(quoted?.replaceAll('""', '"') ?? (plain === "" ? null : plain!));
    if (end === ",") continue;
    lines.push(line);
    line = [];
  }
  assert.equal(lines.flat().length > 0, true);
  return lines;
}

describeWithDatabase("a list as CSV and as newline-delimited JSON", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  /** Every path of a list, with parameters, and the field of its items. */
  let lists: Record<string, { path: string; field: string }>;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    for (let upload = 0; upload < 12; upload++) {
      await fixture.upload(shop, [
        ...flaky(`flaky, "${upload}"`, { durationMicroseconds: 1_000 * upload }),
        { name: "always", conclusion: "failure", message: "one\ntwo", body: "one\r\ntwo, three" },
        { name: "good" },
      ], {
        recordedAt: NOW - 1_000 + upload,
        branch: "main",
        buildUrl: `https://ci.example.org/${upload}`,
        tags: ["nightly", "owner:@acme/web"],
      });
    }
    const id = idOf(shop, { name: 'flaky, "3"' });
    await quarantine(database(), idOf(shop, { name: 'flaky, "4"' }), { quarantineOwner: "@web" });
    const { submissions } = await (await fixture.get("/api/repos/acme/shop/submissions")).json();
    const repository = "/api/repos/acme/shop";
    lists = {
      listMyOrganizations: { path: "/api/me/organizations", field: "organizations" },
      listMyRepositories: { path: "/api/me/repositories", field: "repositories" },
      listSubmissions: { path: `${repository}/submissions`, field: "submissions" },
      listSubmissionTests: {
        path: `${repository}/submissions/${submissions[0].id}/tests?status=failed`,
        field: "tests",
      },
      listConclusions: { path: `${repository}/conclusions`, field: "conclusions" },
      listTestStates: { path: `${repository}/states`, field: "tests" },
      listTestGroups: { path: `${repository}/groups`, field: "groups" },
      listDisruptiveTests: { path: `${repository}/tests?sort=recency`, field: "tests" },
      listRepositoryFailures: { path: `${repository}/failures`, field: "failures" },
      listDurations: { path: `${repository}/durations?by=test`, field: "durations" },
      listSlowTests: { path: `${repository}/slow-tests`, field: "tests" },
      listTestResults: { path: `/api/tests/${id}/results`, field: "results" },
      listTestRuns: { path: `/api/tests/${id}/runs`, field: "runs" },
      listTestFailures: { path: `/api/tests/${id}/failures`, field: "failures" },
      listFlakyTests: {
        path:
          "/api/v1/flaky/tests?quarantine=false&include=tags,quarantine_owner,disruptiveness_ratio",
        field: "tests",
      },
    };
  });

  const withFormat = (path: string, format: string) => path.replace(/(?=\?|$)/, `.${format}`);

  /** The items on all pages of JSON, of two each. */
  async function allItems({ path, field }: { path: string; field: string }): Promise<Item[]> {
    const items: Item[] = [];
    let after = "";
    do {
      const separator = path.includes("?") ? "&" : "?";
      const page = await (await fixture.get(`${path}${separator}limit=2&after=${after}`)).json();
      items.push(...page[field]);
      after = encodeURIComponent(page.metadata?.after ?? "");
    } while (after !== "");
    return items;
  }

  it("exists for every list of the API", () => {
    const declared = routes.filter(({ list }) => list).map(({ operationId }) => operationId);
    assert.deepEqual(declared.toSorted(), Object.keys(lists).toSorted());
    const others = routes.filter(({ list }) => !list).map(({ operationId }) => operationId);
    assert.deepEqual(others.filter((name) => name.startsWith("list")), []);
  });

  it("has all items of all pages, by path and by Accept, whatever limit and after are", async () => {
    for (const list of Object.values(lists)) {
      const items = await allItems(list);
      assert.ok(items.length > 0, list.path);
      const more = list.path.includes("?") ? "&limit=1" : "?limit=1";
      const responses = [
        await fixture.get(withFormat(list.path, "ndjson")),
        await fixture.get(withFormat(list.path + more, "ndjson")),
        await fixture.get(list.path, { accept: "application/x-ndjson, */*;q=0.1" }),
      ];
      for (const response of responses) {
        assert.equal(response.status, 200);
        assert.equal(response.headers.get("content-type"), "application/x-ndjson; charset=utf-8");
        const text = await response.text();
        assert.ok(text.endsWith("\n"));
        assert.deepEqual(text.trimEnd().split("\n").map((line) => JSON.parse(line)), items);
      }
    }
  });

  it("is the same at the page that shows the list", async () => {
    const all = `include=${INCLUDE_NAMES.join(",")}`;
    const pages = [
      ["/flaky-tests?quarantine=false", `/api/v1/flaky/tests?quarantine=false&${all}`],
      ["/flaky-tests?q=4", `/api/v1/flaky/tests?q=4&${all}`],
      ["/repos/acme/shop/slow-tests?sort=median", "/api/repos/acme/shop/slow-tests?sort=median"],
    ] as const;
    for (const [page, list] of pages) {
      for (const format of ["csv", "ndjson"]) {
        const [shown, expected] = await Promise.all(
          [page, list].map(async (path) =>
            await (await fixture.get(withFormat(path, format))).text()
          ),
        );
        assert.ok(expected!.length > 0);
        assert.equal(shown, expected, page);
      }
    }
  });

  it("has a column of CSV for each field, including those in objects", async () => {
    for (const list of Object.values(lists)) {
      const items = await allItems(list);
      const response = await fixture.get(withFormat(list.path, "csv"));
      assert.equal(response.headers.get("content-type"), "text/csv; charset=utf-8");
      const text = await response.text();
      assert.equal(await (await fixture.get(list.path, { accept: "text/csv" })).text(), text);
      const [head, ...rows] = parseCsv(text);
      assert.equal(new Set(head).size, head!.length, "columns have different names");
      const flat = (item: Item, prefix = ""): [string, unknown][] =>
        Object.entries(item).flatMap(([name, value]) =>
          value !== null && typeof value === "object" && !Array.isArray(value)
            ? flat(value as Item, `${prefix}${name}_`)
            : [[prefix + name, value]]
        );
      const expected = items.map((item) => {
        const values = new Map(flat(item));
        return head!.map((name) => {
          const value = values.get(name!) ?? null;
          if (typeof value === "string") return value.startsWith("@") ? `'${value}` : value;
          return value === null
            ? null
            : Array.isArray(value)
            ? JSON.stringify(value)
            : String(value);
        });
      });
      assert.deepEqual(rows, expected, list.path);
      for (const [name, value] of items.flatMap((item) => flat(item))) {
        if (value !== null) assert.ok(head!.includes(name), `${list.path}: ${name}`);
      }
    }
  });

  it("has only the fields of the inventory that include adds", async () => {
    const [head] = parseCsv(
      await (await fixture.get("/api/v1/flaky/tests.csv?include=tags")).text(),
    );
    assert.deepEqual(head, ["id", "name", "suite", "class", "file", "tags"]);
    const empty = await fixture.get("/api/v1/flaky/tests.csv?repository=shop&q=nothing");
    assert.equal(await empty.text(), "id,name,suite,class,file\r\n");
    assert.equal(await (await fixture.get("/api/v1/flaky/tests.ndjson?q=nothing")).text(), "");
  });

  it("is JSON unless the client prefers another format", async () => {
    const accepted = [
      "*/*",
      "application/json",
      "text/csv;q=0",
      "text/csv;q=0.5, application/json",
      "text/csv;q=x",
      "text/html,application/xhtml+xml,*/*;q=0.8",
      "",
    ];
    for (const accept of accepted) {
      const response = await fixture.get("/api/repos/acme/shop/tests", { accept });
      assert.match(response.headers.get("content-type")!, /^application\/json/, accept);
      assert.equal(response.headers.get("vary"), "Authorization, Accept-Encoding");
      await response.body?.cancel();
    }
    const csv = await fixture.get("/api/repos/acme/shop/tests", { accept: "Text/CSV; q=1.0" });
    assert.match(csv.headers.get("content-type")!, /^text\/csv/);
    assert.equal(csv.headers.get("vary"), "Authorization, Accept, Accept-Encoding");
    await csv.body?.cancel();
  });

  it("has the checks of the list, in their order", async () => {
    const path = "/api/repos/acme/shop/submissions.csv";
    const unauthorized = await fixture.app(request(path));
    assert.equal(unauthorized.status, 401);
    assert.equal(await unauthorized.text(), "");
    const asAccept = await fixture.app(request(path.slice(0, -4), { accept: "text/csv" }));
    assert.equal(asAccept.headers.get("www-authenticate"), "Bearer");
    await assertError(
      await fixture.get("/api/repos/acme/none/submissions.csv?limit=x"),
      404,
      NOT_FOUND,
    );
    await assertError(await fixture.get("/api/tests/abc/runs.ndjson"), 404, NOT_FOUND);
    await assertBadRequest(
      await fixture.get(`${path}?limit=0&after=x&branch=${"a".repeat(3_000)}`),
      [
        "after",
        "branch",
        "limit",
      ],
    );
    await assertError(
      await fixture.get(`${path}?organization_id=00000000-0000-0000-0000-000000000000`),
      404,
      NOT_FOUND,
    );
    const posted = await fixture.app(
      new Request(`http://x${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${fixture.token}` },
      }),
    );
    await assertError(posted, 405, { message: "Method Not Allowed" });
    for (
      const unknown of [
        "/api/repos/acme/shop/verdicts.csv",
        "/health.csv",
        "/api/v1/flaky/tests.xml",
      ]
    ) {
      await assertError(await fixture.get(unknown), 404, NOT_FOUND);
    }
    const other = await createFixture(database(), { name: "other" });
    await assertError(await other.get(path), 404, NOT_FOUND);
  });

  it("takes the token as a password by path, as a browser and a spreadsheet send it", async () => {
    const path = "/api/repos/acme/shop/tests.csv";
    const unauthorized = await fixture.app(request(path));
    assert.match(unauthorized.headers.get("www-authenticate")!, /^Basic realm=/);
    const authorization = `Basic ${btoa(`any:${fixture.token}`)}`;
    const response = await fixture.app(request(path, { authorization }));
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-disposition"), 'attachment; filename="tests.csv"');
    await response.body?.cancel();
    const asJson = await fixture.app(request(path.slice(0, -4), { authorization }));
    assert.equal(asJson.status, 401);
  });

  it("answers HEAD, If-None-Match and Accept-Encoding as other responses do", async () => {
    const path = "/api/repos/acme/shop/tests.csv";
    const response = await fixture.get(path);
    const text = await response.text();
    const etag = response.headers.get("etag")!;
    assert.match(etag, /^"[\w-]{22}"$/);
    const json = await fixture.get("/api/repos/acme/shop/tests");
    assert.notEqual(json.headers.get("etag"), etag);
    await json.body?.cancel();
    assert.equal((await fixture.get(path, { "if-none-match": etag })).status, 304);

    const headers = { authorization: `Bearer ${fixture.token}` };
    const head = await fixture.app(new Request(`http://x${path}`, { method: "HEAD", headers }));
    assert.equal(head.status, 200);
    assert.equal(await head.text(), "");
    for (const [name, value] of response.headers) {
      if (name !== "x-request-id") assert.equal(head.headers.get(name), value, name);
    }
    const compressed = await fixture.get(path, { "accept-encoding": "gzip" });
    assert.equal(compressed.headers.get("content-encoding"), "gzip");
    assert.equal(compressed.headers.get("etag"), `W/${etag}`);
    assert.equal(gunzipSync(await compressed.bytes()).toString(), text);
  });

  it("is sent over a connection without a length, whole for GET and empty for HEAD", async () => {
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => fixture.app(request),
    );
    try {
      const url = `http://127.0.0.1:${server.addr.port}/api/repos/acme/shop/tests.csv`;
      const headers = { authorization: `Bearer ${fixture.token}` };
      for (const method of ["GET", "HEAD"]) {
        const response = await fetch(url, { method, headers });
        assert.equal(response.headers.get("content-length"), null, method);
        const text = await response.text();
        if (method === "HEAD") assert.equal(text, "");
        else assert.equal(parseCsv(text).length, 13);
      }
    } finally {
      await server.shutdown();
    }
  });

  it("goes on when the data changes, and is cut off when the repository is deleted", async () => {
    const { fixture: acme, shop } = await createShop(database(), "changing");
    const body = "x".repeat(16_000);
    for (let upload = 0; upload < 5; upload++) {
      const results = Array.from({ length: 300 }, () => ({
        name: "failing",
        conclusion: "failure" as const,
        body: `${upload} ${body}`,
      }));
      await acme.upload(shop, results, { recordedAt: NOW - 100 + upload });
    }
    const path = `/api/tests/${idOf(shop, { name: "failing" })}/runs.ndjson`;
    const first = async () => {
      const reader = (await acme.get(path)).body!.getReader();
      const { value } = await reader.read();
      assert.ok(value!.length > 10_000);
      return reader;
    };
    const reader = await first();
    await acme.upload(shop, [{ name: "other" }], { recordedAt: NOW - 50 });
    let lines = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      for (const byte of value) if (byte === 10) lines++;
    }
    assert.ok(lines > 5 * 300 - 20 && lines <= 5 * 300, `${lines}`);

    const cut = await first();
    await database().sql.begin((tx) => deleteRepository(tx, shop));
    await assert.rejects(async () => {
      while (!(await cut.read()).done);
    });
  });
});
