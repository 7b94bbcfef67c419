/** Sign-in in a real browser, with the real program and a provider of OpenID Connect. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { copyTemplate } from "../database.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startProvider,
  type TestProvider,
} from "../lib/http/sign_in/provider.ts";
import { launch, NO_BROWSER } from "./browser.ts";
import { createAcme } from "./prepare.ts";
import { type Running, start } from "./program.ts";

const LIMIT_MS = 30_000;

describe("sign-in in a browser", { skip: NO_BROWSER }, () => {
  let browser: Browser;
  let provider: TestProvider;
  let service: Running;
  let environment: Record<string, string>;
  let publicUrl = "";
  let proxy: Deno.HttpServer<Deno.NetAddr>;

  before(async () => {
    // The provider has to know the address before the service listens.
    proxy = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      ({ url, method, headers, body }) => {
        const { pathname, search } = new URL(url);
        const target = service.url + pathname + search;
        return fetch(target, { method, headers, body, redirect: "manual" });
      },
    );
    publicUrl = `http://localhost:${proxy.addr.port}`;
    provider = await startProvider(`${publicUrl}/sign-in/callback`);
    environment = {
      DATA_DIR: await copyTemplate(),
      PUBLIC_URL: publicUrl,
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT_ID,
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
      OIDC_ORGANIZATION: "acme",
    };
    await createAcme(environment);
    service = await start(["serve", "--port", "0"], environment);
    browser = await launch();
  });
  after(async () => {
    await browser.close();
    const { stdout, stderr } = await service.stop("SIGTERM");
    assert.match(stderr, /"user":"ada@acme\.example"/);
    for (const secret of [CLIENT_SECRET, "code=", "state="]) {
      assert.ok(!(stdout + stderr).includes(secret), secret);
    }
    await proxy.shutdown();
    await provider.close();
    await Deno.remove(environment.DATA_DIR!, { recursive: true });
  });

  it("leads from a page to the provider and back to the page, until one signs out", async () => {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(LIMIT_MS);
    await page.goto(`${publicUrl}/owners?tz=Europe/Berlin`);
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.locator('input[name="login"]').fill("ada");
    await page.locator('input[name="password"]').fill("any");
    await page.locator('button[type="submit"]').click();
    // The provider asks for the consent on a page of its own.
    await page.locator('input[name="prompt"][value="consent"]').waitFor({ state: "attached" });
    await page.locator('button[type="submit"]').click();
    await page.waitForURL(`${publicUrl}/owners?tz=Europe/Berlin`);
    assert.equal(await page.title(), "Owners · test-analytics");
    await page.goto(`${publicUrl}/docs`);
    assert.match(await page.title(), /test-analytics|Test Analytics/);
    await page.goto(`${publicUrl}/repos`);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${publicUrl}/sign-out`);
    await page.goto(`${publicUrl}/repos`);
    assert.equal(await page.title(), "Sign in · test-analytics");
  });
});
