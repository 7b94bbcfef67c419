import assert from "node:assert/strict";
import { join } from "node:path";
import axe from "axe-core";
import { after, before, describe, it } from "@std/testing/bdd";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { launch, NO_BROWSER, type Site } from "./browser.ts";
import { describeDocsPage } from "./docs_page.ts";
import { type Demo, serveDemo } from "./demo.ts";
import { createAcme, newServiceData, prepare } from "./prepare.ts";
import { start } from "./program.ts";

describe("the pages in a browser", { skip: NO_BROWSER }, () => {
  let demo: Demo;
  const site = {} as Site;
  /** Every kind of page, by name. */
  let paths: Record<string, string>;

  before(async () => {
    demo = await serveDemo();
    const { token } = demo;
    Object.assign(site, { browser: await launch(), url: demo.url, token });
    const read = async (path: string) => {
      const response = await fetch(demo.url + path, {
        headers: { authorization: `Bearer ${token}` },
      });
      return await response.json();
    };
    const { tests } = await read("/api/repos/acme/web-shop/tests");
    const branch = "branch=checkout-redesign&limit=1";
    const { submissions } = await read(`/api/repos/acme/web-shop/submissions?${branch}`);
    paths = {
      repositories: "/repos",
      repository: "/repos/acme/web-shop",
      causes: "/repos/acme/orders-api",
      flaky: "/flaky-tests?quarantine=false",
      quarantined: "/flaky-tests",
      nothing: "/flaky-tests?q=nothing",
      test: `/tests/${tests[0].id}`,
      build: `/repos/acme/web-shop/builds/${submissions[0].id}`,
      builds: "/repos/acme/web-shop/builds",
      tests: "/tests?q=cart",
      owners: "/owners",
      owner: "/owners/nobody",
      guides: "/docs/guides",
      guide: "/docs/guides/ci",
      tables: "/docs/reference/command_line",
      docs: "/docs",
    };
  });
  after(async () => {
    await site.browser?.close();
    await demo?.stop();
  });

  describeDocsPage(site);

  /** Opens pages one after the other, and asserts that none has anything to complain about. */
  async function visit(
    options: BrowserContextOptions,
    look: (page: Page, name: string) => Promise<void>,
  ): Promise<void> {
    const context = await site.browser.newContext({
      httpCredentials: { username: "any", password: site.token },
      ...options,
    });
    // Sent once: with each page it takes half a second of processor time.
    await context.addInitScript({ content: axe.source });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("requestfailed", (request) => complaints.push(request.url()));
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(demo.url) && !url.startsWith("data:")) complaints.push(url);
    });
    for (const [name, path] of Object.entries(paths)) {
      const response = await page.goto(demo.url + path);
      assert.equal(response?.status(), 200, path);
      await look(page, name);
      assert.deepEqual(complaints, [], path);
    }
    await context.close();
  }

  /** Clicks a link or button, and waits until the page that it opens is there. */
  async function follow(page: Page, target: Locator): Promise<void> {
    await Promise.all([page.waitForEvent("load"), target.click()]);
  }

  /** Pixels beyond the width of the window. */
  const overflow = (page: Page) =>
    page.evaluate<number>(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );

  /** Whether all text of an element is within its cell. */
  const isWhole = (place: Locator) =>
    place.evaluate((element) => {
      const { left, right } = element.getBoundingClientRect();
      const cell = element.closest("th").getBoundingClientRect();
      return element.scrollWidth <= element.clientWidth && cell.left <= left && right <= cell.right;
    });

  /** What is seen of a page in one visit. */
  interface Seen {
    overflow: number;
    background: string;
    violations: string[];
  }

  async function seenOf(page: Page): Promise<Seen> {
    const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
      "axe.run().then(({ violations }) => violations)",
    );
    return {
      overflow: await overflow(page),
      background: await page.evaluate<string>("getComputedStyle(document.body).backgroundColor"),
      violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`),
    };
  }

  describe("each of them", () => {
    const light: Record<string, Seen> = {};
    const dark: Record<string, Seen> = {};
    /** Rows of more than one line. */
    const tall: Record<string, string[]> = {};
    const zoomedOverflow: Record<string, number> = {};
    const onPaper: Record<string, { hasNavigation: boolean; hasHeading: boolean }> = {};
    const unstyled: Record<string, { text: string; headings: string[] }> = {};

    before(async () => {
      const desk = { width: 1280, height: 900 };
      const phone = { width: 390, height: 900 };
      await visit({ colorScheme: "light", viewport: desk, bypassCSP: true }, async (page, name) => {
        light[name] = await seenOf(page);
        const rows = "[...document.querySelectorAll('.dense tbody tr')]";
        tall[name] = await page.evaluate<string[]>(
          `${rows}.filter((row) => row.clientHeight > 40).map((row) => row.innerText)`,
        );
        // A zoom of 200 %: half of the width.
        await page.setViewportSize({ width: 640, height: 450 });
        zoomedOverflow[name] = await overflow(page);
        await page.setViewportSize(phone);
        await page.emulateMedia({ colorScheme: "dark" });
        dark[name] = await seenOf(page);
        await page.setViewportSize(desk);
        await page.emulateMedia({ colorScheme: "light", media: "print" });
        onPaper[name] = {
          hasNavigation: await page.locator(".top nav").isVisible(),
          hasHeading: await page.locator("main h1").isVisible(),
        };
        await page.emulateMedia({ media: "screen" });
        await page.evaluate(
          "document.querySelectorAll('style').forEach((style) => style.remove())",
        );
        unstyled[name] = {
          text: await page.innerText("main"),
          headings: await page.locator("h1, h2, h3").allInnerTexts(),
        };
      });
    });

    /** The same for every page. */
    const forAll = <T>(value: T) =>
      Object.fromEntries(Object.keys(paths).map((name) => [name, value]));
    const each = <T, R>(seen: Record<string, T>, read: (one: T) => R) =>
      Object.fromEntries(Object.entries(seen).map(([name, one]) => [name, read(one)]));

    it("has no violation that axe-core finds", () => {
      for (const seen of [light, dark]) {
        assert.deepEqual(each(seen, ({ violations }) => violations), forAll([]));
      }
    });

    it("follows the reader's scheme", () => {
      for (const [name, { background }] of Object.entries(dark)) {
        assert.notEqual(background, light[name]!.background, name);
      }
    });

    it("fits a desk, a phone, and a zoom of 200 %", () => {
      for (const seen of [light, dark]) {
        assert.deepEqual(each(seen, (one) => one.overflow), forAll(0));
      }
      assert.deepEqual(zoomedOverflow, forAll(0));
    });

    it("has lists of one line a row at a desk", () => assert.deepEqual(tall, forAll([])));

    it("has its heading and no navigation on paper", () => {
      assert.deepEqual(onPaper, forAll({ hasNavigation: false, hasHeading: true }));
    });

    it("can be read without the style sheet", () => {
      for (const name of Object.keys(paths)) {
        const { text, headings } = unstyled[name]!;
        assert.ok(text.length > 40, `${name}: ${text}`);
        assert.ok(headings[0] && text.includes(headings[0]), name);
      }
    });
  });

  it("fit any screen whatever names, branches and addresses are, and cut long names", async () => {
    const long = "a".repeat(400);
    const repository = "acme-corporation-of-northern-europe/payments-gateway";
    const { environment, remove } = await newServiceData();
    const report = join(environment.DATA_DIR, "r.xml");
    const cases = [long, " ", "short"].map((name, index) =>
      `<testcase name="${name}" classname="${long}" file="${long}">` +
      `<failure message="${index}${long}">${long}</failure></testcase>`
    );
    await Deno.writeTextFile(report, `<testsuite name="${long}">${cases.join("")}</testsuite>`);
    const ingest = ["ingest", "--org", "acme", "--repo", repository, "--commit", "a".repeat(40)];
    const { api: token } = await createAcme(environment);
    await prepare(environment, [
      [...ingest, "--branch", long, "--build-url", `https://ci.example.org/${long}/77`, report],
    ]);
    const service = await start(["serve", "--port", "0"], environment);
    const context = await site.browser.newContext({
      httpCredentials: { username: "any", password: token },
      viewport: { width: 390, height: 900 },
    });
    try {
      const page = await context.newPage();
      const path = `/repos/${repository}`;
      const lists: [path: string, first: string, rest: string][] = [
        ["/repos", "acme-corporation-of-northern-europe", "/payments-gateway"],
        [path, long, " · aaaaaaa · #77"],
        [`${path}/builds`, long, " · aaaaaaa · #77"],
      ];
      for (const width of [1366, 768, 360]) {
        await page.setViewportSize({ width, height: 900 });
        for (const [path, first, rest] of lists) {
          await page.goto(service.url + path);
          const where = `${path} at ${width}`;
          assert.equal(await overflow(page), 0, where);
          const list = page.locator(".scroll:has(.dense)");
          assert.equal(await list.evaluate((e) => e.scrollWidth - e.clientWidth), 0, where);
          const name = page.locator(".dense th .parts");
          assert.equal(await name.getAttribute("title"), first + rest, where);
          assert.equal(await name.locator("span").innerText(), rest, where);
          assert.ok(await isWhole(name.locator("span")), where);
        }
      }
      await page.goto(service.url + path);
      await follow(page, page.locator('tbody a[href*="/builds/"]').first());
      assert.equal(await overflow(page), 0, "build");
      const assertCut = async (selector: string) => {
        const found = await page.locator(selector).all();
        assert.ok(found.length > 0, selector);
        for (const one of found) {
          const { height } = (await one.boundingBox())!;
          assert.ok(height > 10 && height < 100, `${selector}: ${height}`);
        }
      };
      for (const selector of [".cause a bdi", "summary .message", "dd bdi"]) {
        await assertCut(selector);
      }
      await follow(page, page.locator(".cause a", { hasText: "(blank name)" }));
      assert.equal(await page.innerText("h1"), "(blank name)");
      assert.equal(await overflow(page), 0, "test");
      await assertCut("details[open] > summary b.message");
    } finally {
      await context.close();
      await service.stop("SIGTERM");
      await remove();
    }
  });

  it("lead from the repositories to a stack trace in three clicks, with the keyboard too", async () => {
    const context = await site.browser.newContext({
      httpCredentials: { username: "any", password: site.token },
    });
    const page = await context.newPage();
    await page.goto(demo.url);
    await follow(page, page.locator("a", { hasText: "acme/web-shop" }));
    await follow(page, page.getByRole("link", { name: "sorts by price" }).first());
    const summary = page.locator("summary", { hasText: "expected 9.90" });
    const trace = page.getByText("at pricesAscending");
    assert.ok(await trace.isVisible());
    await summary.focus();
    await page.keyboard.press("Enter");
    assert.equal(await trace.isVisible(), false);
    await page.keyboard.press("Enter");
    assert.ok(await trace.isVisible());
    await page.goto(`${demo.url}/repos`);
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate("document.activeElement.textContent"), "Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate("document.activeElement.id"), "main");
    await context.close();
  });

  it("filter, sort and page by forms and links", async () => {
    const context = await site.browser.newContext({
      httpCredentials: { username: "any", password: site.token },
    });
    const page = await context.newPage();
    await page.goto(`${demo.url}/flaky-tests?quarantine=false`);
    await page.getByLabel("Search").fill("price");
    await follow(page, page.getByRole("button", { name: "Show" }));
    assert.match(page.url(), /[?&]q=price&/);
    assert.match(page.url(), /quarantine=false/);
    assert.deepEqual(await page.locator("tbody th > a").allInnerTexts(), ["sorts by price"]);
    await page.goto(`${demo.url}/flaky-tests?quarantine=false&limit=4`);
    const first = await page.locator("tbody th > a").allInnerTexts();
    await follow(page, page.getByRole("link", { name: "Next page" }));
    const second = await page.locator("tbody th > a").allInnerTexts();
    assert.deepEqual([first.length, second.some((name) => first.includes(name))], [4, false]);
    await follow(page, page.getByRole("link", { name: "Previous page" }));
    assert.deepEqual(await page.locator("tbody th > a").allInnerTexts(), first);
    await follow(page, page.getByRole("link", { name: "Latest" }));
    assert.equal(await page.locator("th[aria-sort]").innerText(), "Latest");
    await context.close();
  });
});
