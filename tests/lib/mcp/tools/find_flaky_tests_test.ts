import { afterEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { flakyPage } from "../../api_client/fake_api.ts";
import { WEB_URL } from "../connect.ts";
import { closeAll, over, queryOf } from "./over.ts";

afterEach(closeAll);

describe("find_flaky_tests", () => {
  it("requests the non-quarantined tests of the whole organization by default", async () => {
    const { api, call } = await over(() => Response.json(flakyPage()));
    await call("find_flaky_tests");
    assert.equal(new URL(api.received[0]?.url ?? "", api.url).pathname, "/api/v1/flaky/tests");
    assert.deepEqual(Object.fromEntries(queryOf(api)), {
      sort: "disruptivenessRatio",
      quarantine: "false",
      include: "tags,disruptiveness_ratio,nondeterministic_negative_result_count," +
        "nondeterminism_first_recorded_at,recent_nondeterministic_negative_result",
      limit: "25",
    });
  });

  it("combines search, tags and day into one query", async () => {
    const { api, call } = await over(() => Response.json(flakyPage()));
    const { isError } = await call("find_flaky_tests", {
      repository: "acme/web",
      search: " cart last-seen:<2026-02-01 ",
      tags: ["linux", "a:b"],
      since: "2026-01-20",
      sort: "recency",
      quarantined: true,
      limit: 100,
      after: "b2Zmc2V0OjI1",
    });
    assert.ok(!isError);
    const { include, ...query } = Object.fromEntries(queryOf(api));
    assert.match(include!, /,quarantine_environment$/);
    assert.deepEqual(query, {
      repository: "acme/web",
      q: "cart last-seen:<2026-02-01 tags:linux,a:b last-seen:>=2026-01-20",
      sort: "recency",
      quarantine: "true",
      limit: "100",
      after: "b2Zmc2V0OjI1",
    });
  });

  it("says to which environments a quarantine is limited", async () => {
    const page = flakyPage();
    const [test] = page.tests as object[];
    const limited = { ...test, quarantine_environment: "Windows*" };
    const { call } = await over(() => Response.json({ ...page, tests: [limited] }));
    const { data } = await call("find_flaky_tests", { quarantined: true });
    assert.equal(data.tests[0].quarantine_environment, "Windows*");
  });

  it("returns the fields of the API and the cursor of the next page", async () => {
    const { call } = await over(() => Response.json(flakyPage({ count: 26, after: "bmV4dA==" })));
    const { structuredContent } = await call("find_flaky_tests", { repository: "acme/web" });
    assert.deepEqual(structuredContent, {
      web_url: "https://flaky.example/flaky-tests?quarantine=false&repository=acme%2Fweb" +
        "&sort=disruptivenessRatio",
      count: 26,
      tests: [{
        id: "5f3a9c0e7b12d4a86f01c2e3",
        name: "adds an item",
        suite: "cart",
        class: "shop.CartTest",
        file: "src/cart_test.ts",
        tags: ["linux", "nightly"],
        disruptiveness_ratio: 0.125,
        nondeterministic_negative_result_count: 3,
        nondeterminism_first_recorded_at: "2026-01-02T03:04:05Z",
        recent_nondeterministic_negative_result: {
          recorded_at: "2026-01-31T08:00:00Z",
          build_url: "https://ci.example.com/builds/7",
          message: "expected 3 items, found 2",
        },
      }],
      next_cursor: "bmV4dA==",
    });
  });

  it("leads to the page that lists the same tests", async () => {
    const { call } = await over((request) =>
      Response.json(
        request.url.includes("/states")
          ? { count: 0, tests: [], metadata: { limit: 25, after: null } }
          : flakyPage(),
      )
    );
    const pageOf = async (args: Record<string, unknown>) => {
      const { origin, pathname, searchParams } = new URL(
        (await call("find_flaky_tests", args)).data.web_url,
      );
      assert.equal(origin, WEB_URL);
      return [pathname, Object.fromEntries(searchParams)];
    };
    const order = { sort: "disruptivenessRatio" };
    assert.deepEqual(await pageOf({}), ["/flaky-tests", { quarantine: "false", ...order }]);
    assert.deepEqual(await pageOf({ quarantined: true }), ["/flaky-tests", {
      quarantine: "true",
      ...order,
    }]);
    const filter = { search: "a&b", tags: ["linux"], since: "2026-01-20", sort: "recency" };
    assert.deepEqual(await pageOf({ ...filter, repository: "group/sub/web" }), ["/flaky-tests", {
      quarantine: "false",
      repository: "group/sub/web",
      q: "a&b tags:linux last-seen:>=2026-01-20",
      sort: "recency",
    }]);
    assert.deepEqual(await pageOf({ repository: "group/sub/web", without_reruns: true }), [
      "/repos/group%2Fsub/web",
      {},
    ]);
  });

  it("returns the same as text", async () => {
    const { call } = await over(() => Response.json(flakyPage({ count: 26, after: "bmV4dA==" })));
    const { structuredContent, text } = await call("find_flaky_tests", { repository: "acme/web" });
    assert.deepEqual(JSON.parse(text), structuredContent);
  });

  it("cuts a long message and marks it", async () => {
    const message = "\u{1F600}".repeat(999);
    const { call } = await over(() => Response.json(flakyPage({ message })));
    const { structuredContent, text } = await call("find_flaky_tests");
    const cut = `${"\u{1F600}".repeat(300)}... [cut: 300 of 999 characters]`;
    assert.match(JSON.stringify(structuredContent), new RegExp(RegExp.escape(cut)));
    assert.ok(text.includes(cut));
    assert.ok(!text.includes("\u{1F600}".repeat(301)));
  });

  it("accepts a quarantined test without disruptions", async () => {
    const page = flakyPage();
    Object.assign((page.tests as object[])[0] ?? {}, {
      disruptiveness_ratio: 0,
      nondeterministic_negative_result_count: 0,
      nondeterminism_first_recorded_at: null,
      recent_nondeterministic_negative_result: null,
    });
    const { call } = await over(() => Response.json(page));
    const { isError } = await call("find_flaky_tests", { quarantined: true });
    assert.ok(!isError);
  });

  it("rejects arguments outside its schema without a request", async () => {
    const { api, call } = await over(() => Response.json(flakyPage()));
    for (
      const [args, message] of [
        [{ limit: 0 }, /limit.*0/],
        [{ limit: 101 }, /limit.*101/],
        [{ limit: 2.5 }, /limit.*2\.5/],
        [{ limit: "5" }, /limit.*"5"/],
        [{ tags: ["a,b"] }, /tags.*"a,b"/],
        [{ tags: ["a b"] }, /tags.*"a b"/],
        [{ tags: [""] }, /tags.*""/],
        [{ tags: "a" }, /tags.*"a"/],
        [{ repository: "" }, /repository.*expected owner\/name/],
        [{ since: "yesterday" }, /since: invalid day "yesterday": expected YYYY-MM-DD/],
        [{ since: "2026-02-30" }, /since: invalid day "2026-02-30": expected YYYY-MM-DD/],
        [{ sort: "name" }, /sort.*recency.*"name"/],
        [{ quarantined: "false" }, /quarantined.*"false"/],
        [{ repo: "acme/web" }, /unknown argument "repo": expected repository, tags/],
      ] as const
    ) {
      const { isError, text } = await call("find_flaky_tests", args);
      assert.ok(isError, JSON.stringify(args));
      assert.match(text, message);
    }
    assert.equal(api.received.length, 0);
  });

  it("lists what the API says about arguments", async () => {
    const { call } = await over(() =>
      Response.json({
        errors: {
          q: ['term 1 "tags:" is wrong'],
          after: ['invalid cursor "x": expected metadata.after of one of its pages'],
        },
      }, { status: 400 })
    );
    const { isError, text } = await call("find_flaky_tests", { search: "tags:", after: "x" });
    assert.ok(isError);
    assert.match(text, /search: term 1 "tags:" is wrong/);
    assert.match(text, /after: invalid cursor "x": expected next_cursor/);
  });
});
