import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { BrowserContext, Locator, Page } from "playwright-core";
import type { Site } from "./browser.ts";

/** A page, with what it logged and requested. */
interface Visit {
  context: BrowserContext;
  page: Page;
  /** Errors and warnings of the console, and uncaught errors. */
  complaints: string[];
  /** Addresses of all requests. */
  requests: string[];
}

/** The documentation page behind a path prefix, as a reverse proxy would serve it. */
function behindPrefix(prefix: string, upstream: string): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    if (!pathname.startsWith(`${prefix}/`)) return new Response("outside", { status: 418 });
    return fetch(upstream + pathname.slice(prefix.length) + search, { headers: request.headers });
  });
}

/** Tests of the documentation page of a demo that runs already. */
export function describeDocsPage(site: Site): void {
  describe("the documentation page in a browser", () => testDocsPage(site));
}

function testDocsPage(site: Site): void {
  async function visit(address: string): Promise<Visit> {
    const context = await site.browser.newContext({
      httpCredentials: { username: "any", password: site.token },
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
    return { context, page, complaints, requests };
  }

  /** Fills the form of an endpoint, sends it, and returns its section once there is a response. */
  async function send(page: Page, id: string, values: Record<string, string>): Promise<Locator> {
    const section = page.locator(`#${id}`);
    for (const [name, value] of Object.entries(values)) {
      await section.locator(`[name=${name}]`).fill(value);
    }
    await section.getByRole("button", { name: "Send request" }).click();
    await section.locator(".result p").waitFor();
    return section;
  }

  /** Requests to anywhere but a base address, except for images inside the page. */
  function elsewhere(requests: string[], base: string): string[] {
    return requests.filter((url) => !url.startsWith(base) && !/^(data|blob):/.test(url));
  }

  const REPOSITORY = { owner: "acme", name: "web-shop" };

  it("sends a request and shows the response, page by page", async () => {
    const { context, page, complaints, requests } = await visit(`${site.url}/docs`);
    await page.getByLabel("API token").fill(site.token);
    const path = `${site.url}/api/repos/acme/web-shop/submissions`;
    const authorization = `Bearer ${site.token}`;
    const { submissions, metadata } = await (await fetch(`${path}?limit=1`, {
      headers: { authorization },
    })).json();
    const section = await send(page, "listSubmissions", { ...REPOSITORY, limit: "1" });
    assert.match(await section.locator(".result p").textContent() ?? "", /^200 OK, /);
    await section.getByText(submissions[0].key).first().waitFor();
    const answered = page.waitForResponse(`${path}?limit=1&after=${metadata.after}`);
    await section.getByRole("button", { name: "Next page" }).click();
    assert.equal((await answered).status(), 200);
    assert.deepEqual(complaints, []);
    assert.deepEqual(elsewhere(requests, `${site.url}/`), []);
    await context.close();
  });

  it("asks for the token where one is required, and shows errors", async () => {
    const { context, page } = await visit(`${site.url}/docs`);
    const health = await send(page, "checkHealth", {});
    await health.getByText('"status": "ok"').first().waitFor();
    const section = await send(page, "listSubmissions", REPOSITORY);
    await section.getByText("Enter an API token first").waitFor();
    await page.getByLabel("API token").fill("tk_wrong");
    await section.getByRole("button", { name: "Send request" }).click();
    await section.getByText("401 Unauthorized").waitFor();
    await context.close();
  });

  it("shows a badge as an image", async () => {
    const { context, page, complaints } = await visit(`${site.url}/docs`);
    await page.getByLabel("API token").fill(site.token);
    const section = await send(page, "getFlakinessBadge", { repository: "acme/web-shop" });
    const picture = section.locator("img[src^='blob:']");
    await picture.waitFor();
    const width = (await picture.boundingBox())?.width ?? 0;
    assert.ok(width > 50, `${width} pixels`);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  it("works behind a path prefix, also with a slash at the end", async () => {
    const proxy = behindPrefix("/ci/analytics", site.url);
    const base = `http://127.0.0.1:${proxy.addr.port}/ci/analytics/`;
    for (const address of [`${base}docs`, `${base}docs/`]) {
      const { context, page, complaints, requests } = await visit(address);
      const links = await page.evaluate<string[]>(
        `[...document.querySelectorAll("header a, .formats a")].map((link) => link.href)`,
      );
      assert.deepEqual(
        links,
        [
          "repos",
          "flaky-tests?quarantine=false",
          "tests",
          "owners",
          "docs/guides",
          "docs",
          "openapi.yaml",
          "llms-full.txt",
        ].map((path) => base + path),
      );
      await page.getByLabel("API token").fill(site.token);
      const section = await send(page, "listSubmissions", REPOSITORY);
      assert.match(await section.locator(".result p").textContent() ?? "", /^200 OK, /);
      assert.deepEqual(complaints, []);
      assert.deepEqual(elsewhere(requests, base), []);
      await context.close();
    }
    await proxy.shutdown();
  });

  it("runs no injected script", async () => {
    const { context, page, complaints } = await visit(`${site.url}/docs`);
    const ran = await page.evaluate<boolean>(`
      const script = document.createElement("script");
      script.textContent = "globalThis.injected = true";
      document.body.append(script);
      "injected" in globalThis;
    `);
    assert.equal(ran, false);
    assert.match(complaints.join("\n"), /Content Security Policy/);
    await context.close();
  });
}
