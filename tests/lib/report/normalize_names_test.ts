import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { attemptsOfTests } from "../../../lib/analysis/columns.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { NameNormalizer } from "../../../lib/report/normalize_names.ts";
import { readReport } from "../../../lib/report/read_report.ts";
import { inChunks, readText } from "./reading.ts";

const names = (checkoutFolder?: string) => new NameNormalizer(checkoutFolder);
const nameOf = (name: string) => names().name(name);

describe("the name of a test", () => {
  const withAddresses: [string, string][] = [
    ["test_pay[<shop.Coupon object at 0x7f7c95fd3850>]", "test_pay[<shop.Coupon object at 0x1>]"],
    ["test_pay[<function add at 0x7f7c95fd>]", "test_pay[<function add at 0x1>]"],
    [
      "test_pay[<bound method A.b of <A object at 0x7f7c95fd3850>>-2]",
      "test_pay[<bound method A.b of <A object at 0x1>>-2]",
    ],
    ["prints #<Object:0x00007f162389f478>", "prints #<Object:0x1>"],
    ["prints #<Shop::Cart:0x00007f162389f478 @size=1>", "prints #<Shop::Cart:0x1 @size=1>"],
    ["is <Cart: 0x600003a5c010>", "is <Cart: 0x1>"],
    ["is <Cart: 0x600003a5c010; size = 1>", "is <Cart: 0x1; size = 1>"],
    ["takes HASH(0x55d0c0de1234)", "takes HASH(0x1)"],
    ["[1] shop.Coupon@4e50df2e", "[1] shop.Coupon@1"],
    ["[1] shop.Cart$Coupon@4e50df2e, 5", "[1] shop.Cart$Coupon@1, 5"],
    [
      "[2] shop.CartTest$$Lambda$14/0x0000000800c03000@1b2c3d4e",
      "[2] shop.CartTest$$Lambda$14/0x1@1",
    ],
    ["[1] [Ljava.lang.String;@1b6d3586", "[1] [Ljava.lang.String;@1"],
    ["[1] [I@6d35", "[1] [I@1"],
    [
      "<A object at 0x7f7c95fd3850> and <B object at 0x7f7c95fd3999>",
      "<A object at 0x1> and <B object at 0x1>",
    ],
  ];
  for (const [written, stable] of withAddresses) {
    it(`${written} becomes ${stable}`, () => assert.equal(nameOf(written), stable));
  }

  const asWritten = [
    "test_mask[0xdeadbeef]",
    "jumps at 0xdeadbeef",
    "a < b at 0xdeadbeef",
    "reads <Register: 0xff>",
    "TestPointer/0xc00009b380",
    "HASH(0x55d0c0de1234x)",
    "MYHASH(0x55d0c0de1234)",
    "sends mail to jo.Doe@deadbeef.example",
    "pins actions/checkout@4e50df2e",
    "pins image@sha256:4e50df2e",
    "Coupon@4e50df2e",
    "shop.Coupon@4e50",
    "runs at 2026-11-21T02:11:51",
    "cart (retry #1)",
    "cart [2]",
    "",
    "a\0b <A object at 0x12>",
  ];
  for (const name of asWritten) {
    it(`${JSON.stringify(name)} stays as it is`, () => assert.equal(nameOf(name), name));
  }

  it("takes little time, whatever it is", () => {
    const started = performance.now();
    for (
      const unit of ["a.A@abcdef0 ", "<a:0x123456 ", "a.", "<a", "@", " at 0x123456> <", "a.b$"]
    ) {
      const name = unit.repeat(65_536 / unit.length);
      for (let n = 0; n < 20; n++) nameOf(`${name}@abcdef0`);
    }
    assert.ok(performance.now() - started < 10_000);
  });
});

describe("the name of a suite", () => {
  it("loses the time that unittest-xml-reporting appends", () => {
    const suite = (name: string, timestamp?: string) => names().suite(name, timestamp);
    assert.equal(suite("CartTest-20261121021151", "2026-11-21T02:11:51"), "CartTest");
    assert.equal(suite("CartTest-20261121021151", "2026-11-21T08:00:00.123Z"), "CartTest");
    for (
      const [name, timestamp] of [
        ["CartTest-20261121021151", undefined],
        ["CartTest-20261121021151", "2025-11-21T02:11:51"],
        ["CartTest-20261121021151", "yesterday"],
        ["CartTest-20269921021151", "2026-11-21T02:11:51"],
        ["CartTest-2026112102115", "2026-11-21T02:11:51"],
        ["-20261121021151", "2026-11-21T02:11:51"],
      ] as const
    ) assert.equal(suite(name, timestamp), name);
  });
});

describe("the path of a file", () => {
  const inside: [string, string][] = [
    ["/codebuild/output/src123456/src/github.com/acme/shop/test/a.php", "test/a.php"],
    ["/codebuild/output/src123456/src/test/a.php", "test/a.php"],
    ["/var/lib/buildkite-agent/builds/host-7-1/acme/shop/test/a.php", "test/a.php"],
    ["/home/gitlab-runner/builds/t1_aBcD3/0/acme/shop/test/a.php", "/builds/acme/shop/test/a.php"],
    ["/home/runner-3/actions-runner/_work/shop/shop/test/a.php", "test/a.php"],
    ["/azp/_work/12/s/test/a.php", "test/a.php"],
    [
      "/var/lib/jenkins/workspace/acme/shop@2/test/a.php",
      "/var/lib/jenkins/workspace/acme/shop/test/a.php",
    ],
    [
      "/home/u/.cache/bazel/_bazel_u/0af/sandbox/linux-sandbox/41/execroot/main/test/a.cc",
      "test/a.cc",
    ],
  ];
  for (const [path, expected] of inside) {
    it(`${path} becomes ${expected}`, () => assert.equal(names().file(path), expected));
  }

  const elsewhere = [
    "test/a.php",
    "./test/a.php",
    "",
    "/",
    "/tmp/x/a.php",
    "/builds/acme/shop/test/a.php",
    "/builds/acme-corporation/7/shop.php",
    "/home/runner/work/shop/shop/test/a.php",
    "/home/vsts/work/1/s/test/a.php",
    "/srv/_work/a/b/test.php",
    "/var/lib/jenkins/workspace/shop/test/a@2.php",
    "/srv/test@2/a.php",
    "workspace/shop@2/a.php",
    "/codebuild/output/src1/src/",
    "D:\\a\\shop\\shop\\a.cs",
  ];
  for (const path of elsewhere) {
    it(`${JSON.stringify(path)} stays as it is`, () => assert.equal(names().file(path), path));
  }

  it("is that inside the checkout, where it is known", () => {
    assert.equal(names("/srv/shop").file("/srv/shop/test/a.php"), "test/a.php");
    assert.equal(names("/srv/shop/").file("/srv/shop/test/a.php"), "test/a.php");
    assert.equal(names("C:\\shop").file("C:\\shop\\test\\a.cs"), "test\\a.cs");
    for (const path of ["/srv/shop", "/srv/shop/", "/srv/shopping/a.php", "srv/shop/a.php"]) {
      assert.equal(names("/srv/shop").file(path), path);
    }
    assert.equal(names("/").file("/srv/a.php"), "/srv/a.php");
  });

  it("takes little time, whatever it is", () => {
    const started = performance.now();
    const units = [
      "/_work/1",
      "/workspace",
      "/sandbox/a",
      "/home/gitlab-runner/builds/a/1/",
      "@2/",
      "/@2",
    ];
    for (const unit of units) {
      for (let n = 0; n < 20; n++) names().file(`/${unit.repeat(65_536 / unit.length)}`);
    }
    assert.ok(performance.now() - started < 10_000);
  });
});

describe("a report", () => {
  it("has stable names in every field that identifies a test", async () => {
    const [result] = await readText(
      `<testsuite name="/srv/shop/test/a.php" file="/srv/shop/test/a.php">` +
        `<testcase classname="#&lt;Class:0x00007f162389f478&gt;" name="/srv/shop/test/a.php"/></testsuite>`,
      { checkoutFolder: "/srv/shop" },
    );
    const { suite, class: className, name, file } = result!;
    assert.deepEqual([suite, className, name, file], [
      "test/a.php",
      "#<Class:0x1>",
      "test/a.php",
      "test/a.php",
    ]);
  });
});

describe("tests that differ only in an address", () => {
  const PYTEST = 'name="pytest" errors="0" failures="1" skipped="0" tests="3" time="0.1" ' +
    'timestamp="2026-03-14T02:11:51" hostname="runner-1"';

  interface Case {
    address: string;
    ends?: string;
    method?: string;
  }

  const testCase = ({ address, ends = "", method = "test_total" }: Case) =>
    `<testcase classname="c" name="${method}[&lt;Coupon object at ${address}&gt;]" time="0.001">` +
    `${ends}</testcase>`;

  /** The attempts of each test, by name, and the notes. */
  async function judge(cases: readonly Case[], suite = PYTEST) {
    const text = `<testsuite ${suite}>${cases.map(testCase).join("")}</testsuite>`;
    return await judgeReport(text);
  }

  async function judgeReport(text: string) {
    const builder = new SubmissionBuilder();
    const { tool } = await readReport(inChunks(new TextEncoder().encode(text), 1_000), {
      file: "r",
      onResult: (result, reported) => builder.add(result, reported),
    });
    builder.endReport(tool);
    const notes: string[] = [];
    const content = builder.finish({ onNote: (note) => notes.push(note) });
    const tests: Record<string, string> = {};
    attemptsOfTests(content).forEach((attempts, index) => {
      tests[content.identityAt(index).name] = attempts.map(({ kind }) => kind).join(", ");
    });
    return { tests, notes };
  }

  const [A, B, C] = ["0x7f0000001", "0x7f0000002", "0x7f0000003"];
  const FAILS = '<failure message="assert 3 == 4"/>';
  const NAME = "test_total[<Coupon object at 0x1>]";

  it("are one, which failed if one of them did, whatever their order, and never a retry", async () => {
    const orders = [[A, B, C], [A, C, B], [B, A, C], [B, C, A], [C, A, B], [C, B, A]];
    for (const order of orders) {
      const { tests, notes } = await judge(
        order.map((address) => ({ address: address!, ends: address === C ? FAILS : "" })),
      );
      assert.deepEqual(tests, { [NAME]: "negative" }, order.join());
      assert.match(notes[0]!, /count as one test, which failed .* at 0x1>\]" \(3 cases\)/);
    }
    // As `pytest --lf` runs it.
    assert.deepEqual((await judge([{ address: C!, ends: FAILS }])).tests, { [NAME]: "negative" });
  });

  it("pass together, also where another test of the report was repeated", async () => {
    const retried = '<testcase classname="c" name="test_other" time="0.001"/>'.repeat(3);
    const cases = [A, B].map((address) => testCase({ address: address! })).join("");
    const { tests } = await judgeReport(`<testsuite ${PYTEST}>${cases}${retried}</testsuite>`);
    assert.equal(tests[NAME], "positive");
  });

  it("have their retries each, which have the same address", async () => {
    const failsThenPasses = [{ address: A!, ends: FAILS }, { address: A! }];
    assert.deepEqual((await judge([...failsThenPasses, { address: B! }])).tests, {
      [NAME]: "negative, positive",
    });
    assert.deepEqual((await judge([...failsThenPasses, { address: B!, ends: FAILS }])).tests, {
      [NAME]: "negative, negative",
    });
  });

  it("are no rounds of a repeated run", async () => {
    const cases = [A, B].flatMap((address, round) =>
      ["t1", "t2", "t3", "t4"].map((method) => (
        { method, address: address!, ends: round === 0 ? FAILS : "" }
      ))
    );
    for (const suite of ['name="any"', PYTEST]) {
      const { tests } = await judge(cases, suite);
      assert.deepEqual(new Set(Object.values(tests)), new Set(["negative"]), suite);
    }
  });

  it("are one also by the name of their class or suite", async () => {
    const suite = (address: string, inside: string) =>
      `<testsuite name="&lt;S object at ${address}&gt;">${inside}</testsuite>`;
    const one = (address: string, ends: string) =>
      `<testcase classname="&lt;C object at ${address}&gt;" name="n">${ends}</testcase>`;
    for (
      const cases of [
        `<testsuite name="s">${one(A!, FAILS)}${one(B!, "")}</testsuite>`,
        suite(A!, one(C!, FAILS)) + suite(B!, one(C!, "")),
      ]
    ) {
      const { tests } = await judgeReport(`<testsuites>${cases}</testsuites>`);
      assert.deepEqual(tests, { n: "negative" });
    }
  });

  it("are one in other formats", async () => {
    const event = (Action: string, address: string) =>
      JSON.stringify({ Action, Package: "acme/x", Test: `T/<C_object at ${address}>` });
    const go = await judgeReport(
      ["run", "fail"].map((action) => event(action, A!)).join("\n") + "\n" +
        ["run", "pass"].map((action) => event(action, B!)).join("\n") + "\n",
    );
    assert.deepEqual(go.tests, { "T/<C_object at 0x1>": "negative" });
  });
});
