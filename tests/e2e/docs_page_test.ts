import assert from "node:assert/strict";
import { after, before, describe, it } from "@std/testing/bdd";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launch, NO_BROWSER } from "./browser.ts";
import { type Running, start } from "./program.ts";

/** A page, and what went on around it. */
interface Visit {
  context: BrowserContext;
  page: Page;
  /** Errors and warnings of the console, and errors that nobody caught. */
  complaints: string[];
  /** Addresses of all requests. */
  requests: string[];
}

/** How the page looks. */
interface Look {
  background: string;
  /** Pixels that are cut off at the side. */
  overflow: number;
}

/** The documentation page behind a path prefix, as a reverse proxy would serve it. */
function behindPrefix(prefix: string, upstream: string): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    if (!pathname.startsWith(`${prefix}/`)) return new Response("outside", { status: 418 });
    return fetch(upstream + pathname.slice(prefix.length) + search, { headers: request.headers });
  });
}

describe("the documentation page in a browser", { skip: NO_BROWSER }, () => {
  let demo: Running;
  let token: string;
  let browser: Browser;

  before(async () => {
    demo = await start(["demo", "--port", "0", "--json"], {});
    token = JSON.parse(demo.stdout()).token;
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    await demo?.stop("SIGTERM");
  });

  async function visit(
    address: string,
    options: { colorScheme?: "light" | "dark"; width?: number } = {},
  ): Promise<Visit> {
    const { colorScheme = "light", width = 1280 } = options;
    const context = await browser.newContext({
      colorScheme,
      viewport: { width, height: 900 },
      httpCredentials: { username: "anybody", password: token },
    });
    const page = await context.newPage();
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("request", (request) => requests.push(request.url()));
    const response = await page.goto(address);
    assert.equal(response?.status(), 200);
    await page.getByRole("heading", { name: "Requests" }).waitFor();
    return { context, page, complaints, requests };
  }

  async function setToken(page: Page): Promise<void> {
    await page.getByPlaceholder("api-token").fill(token);
    await page.getByRole("button", { name: "Set" }).click();
    await page.getByText("Key Applied", { exact: true }).waitFor();
  }

  /** Every request that went somewhere else than to a base address; pictures in the page aside. */
  function elsewhere(requests: string[], base: string): string[] {
    return requests.filter((url) => !url.startsWith(base) && !/^(data|blob):/.test(url));
  }

  it("shows an endpoint, tries a request and shows its answer", async () => {
    const { context, page, complaints, requests } = await visit(`${demo.url}/docs`);
    await page.locator("#link-auth").click();
    await setToken(page);
    await page.getByRole("link", { name: "Flaky tests of a repository" }).click();
    await page.locator("[data-pname=owner]").fill("acme");
    await page.locator("[data-pname=name]").fill("web-shop");
    const answered = page.waitForResponse((response) => response.url().includes("/api/repos/"));
    await page.getByRole("button", { name: "Execute" }).click();
    const { count, tests } = await (await answered).json();
    assert.ok(count > 0);
    await page.getByText("Response Status: OK (200)").waitFor();
    await page.getByText(`"${tests[0].name}"`).first().waitFor();
    assert.deepEqual(complaints, []);
    assert.deepEqual(elsewhere(requests, `${demo.url}/`), []);
    assert.ok(requests.some((url) => url.startsWith(`${demo.url}/api/repos/acme/web-shop/tests`)));
    await context.close();
  });

  it("shows a badge that was tried as a picture", async () => {
    const { context, page, complaints } = await visit(`${demo.url}/docs`);
    await page.locator("#link-auth").click();
    await setToken(page);
    await page.getByRole("link", { name: "Badge of flakiness" }).click();
    await page.locator("[data-pname=repository]").fill("acme/web-shop");
    await page.getByRole("button", { name: "Execute" }).click();
    const picture = page.locator("img[src^='blob:']");
    await picture.waitFor();
    const width = (await picture.boundingBox())?.width ?? 0;
    assert.ok(width > 50, `${width} pixels`);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  it("works behind a path prefix, with a slash at its end too", async () => {
    const proxy = behindPrefix("/ci/analytics", demo.url);
    const base = `http://127.0.0.1:${proxy.addr.port}/ci/analytics/`;
    for (const address of [`${base}docs`, `${base}docs/`]) {
      const { context, page, complaints, requests } = await visit(address);
      const links = await page.evaluate<string[]>(
        `[...document.querySelectorAll("header a")].map((link) => link.href)`,
      );
      assert.deepEqual(links, [`${base}openapi.yaml`, `${base}llms-full.txt`]);
      await page.locator("#link-auth").click();
      await setToken(page);
      await page.getByRole("link", { name: "Submissions of a repository" }).click();
      await page.locator("[data-pname=owner]").fill("acme");
      await page.locator("[data-pname=name]").fill("web-shop");
      await page.getByRole("button", { name: "Execute" }).click();
      await page.getByText("Response Status: OK (200)").waitFor();
      assert.deepEqual(complaints, []);
      assert.deepEqual(elsewhere(requests, base), []);
      await context.close();
    }
    await proxy.shutdown();
  });

  it("is light or dark as the reader likes it, and fits a telephone", async () => {
    const backgrounds: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      for (const width of [1280, 420]) {
        const { context, page, complaints } = await visit(`${demo.url}/docs`, {
          colorScheme,
          width,
        });
        const seen = await page.evaluate<Look>(`({
          background: getComputedStyle(document.querySelector("openapi-explorer")).backgroundColor,
          overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        })`);
        backgrounds.push(seen.background);
        assert.equal(seen.overflow, 0, "nothing is cut off at the side");
        assert.deepEqual(complaints, []);
        await context.close();
      }
    }
    const [light, , dark] = backgrounds;
    assert.deepEqual(backgrounds, [light, light, dark, dark]);
    assert.notEqual(light, dark);
  });

  it("runs no script that somebody slips in", async () => {
    const { context, page, complaints } = await visit(`${demo.url}/docs`);
    const ran = await page.evaluate<boolean>(`
      const script = document.createElement("script");
      script.textContent = "globalThis.slippedIn = true";
      document.body.append(script);
      "slippedIn" in globalThis;
    `);
    assert.equal(ran, false);
    assert.match(complaints.join("\n"), /Content Security Policy/);
    await context.close();
  });
});
