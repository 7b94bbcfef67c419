import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { NameNormalizer } from "../../../lib/report/normalize_names.ts";
import { readText } from "./reading.ts";

const names = (checkoutFolder?: string) => new NameNormalizer(checkoutFolder);
const nameOf = (name: string) => names().name(name, "s", "c");

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

  it("distinguishes tests of one report by the order of their addresses", () => {
    const stable = names();
    const name = (address: string) => stable.name(`t[<A object at ${address}>]`, "s", "c");
    assert.equal(name("0x7f0000001"), "t[<A object at 0x1>]");
    assert.equal(name("0x7f0000002"), "t[<A object at 0x2>]");
    // The same once more is another attempt.
    assert.equal(name("0x7f0000001"), "t[<A object at 0x1>]");
    assert.equal(
      stable.name("t[<A object at 0x7f0000002>]", "s", "other"),
      "t[<A object at 0x1>]",
    );
  });

  it("stays as it is when a report has too many addresses", () => {
    const stable = names();
    const name = (n: number) => `t[<A object at 0x7f${String(n).padStart(8, "0")}>]`;
    for (let n = 1; n <= 10_000; n++) {
      assert.equal(stable.name(name(n), "", ""), `t[<A object at 0x${n}>]`);
    }
    assert.equal(stable.name(name(10_001), "", ""), name(10_001));
    assert.equal(stable.name(name(10_000), "", ""), "t[<A object at 0x10000>]");
  });

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
