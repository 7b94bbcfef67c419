/** Sign-in in a real browser, with the real program and a provider of OpenID Connect. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import axe from "axe-core";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startProvider,
  type TestProvider,
} from "../lib/http/sign_in/provider.ts";
import { launch, NO_BROWSER } from "./browser.ts";
import { createAcme, newServiceData, prepare, type ServiceData } from "./prepare.ts";
import { type Running, start } from "./program.ts";

const LIMIT_MS = 30_000;

describe("sign-in in a browser", { skip: NO_BROWSER }, () => {
  let browser: Browser;
  let provider: TestProvider;
  let service: Running;
  let data: ServiceData;
  let environment: Record<string, string>;
  let publicUrl = "";
  let api = "";
  let id = "";
  let token = "";
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
    data = await newServiceData();
    environment = {
      ...data.environment,
      PUBLIC_URL: publicUrl,
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT_ID,
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
      OIDC_ORGANIZATION: "acme",
      OIDC_EDITORS: "qa",
    };
    ({ api } = await createAcme(environment));
    const report = join(environment.DATA_DIR!, "r.xml");
    const cases =
      `<testcase name="pays" classname="Cart"><flakyFailure message="late"/></testcase>`;
    await Deno.writeTextFile(report, `<testsuite name="shop">${cases}</testsuite>`);
    const commit = "a".repeat(40);
    await prepare(environment, [
      ["ingest", "--org", "acme", "--repo", "acme/shop", "--commit", commit, report],
    ]);
    service = await start(["up", "--port", "0", "--upload-port", "0"], environment);
    const list = await fetch(`${service.url}/api/v1/flaky/tests?quarantine=false`, {
      headers: { authorization: `Bearer ${api}` },
    });
    id = (await list.json()).tests[0].id;
    browser = await launch();
  });
  after(async () => {
    await browser.close();
    const { stdout, stderr } = await service.stop("SIGTERM");
    assert.match(stderr, /"user":"ada@acme\.example"/);
    assert.match(stderr, /"status":303,.*"user":"ada@acme\.example"/);
    assert.match(token, /^tk_/);
    for (const secret of [CLIENT_SECRET, "code=", "state=", "form_token", token]) {
      assert.ok(!(stdout + stderr).includes(secret), secret);
    }
    await proxy.shutdown();
    await provider.close();
    await data.remove();
  });

  /** A browser in which a person has signed in, on a page. */
  async function signIn(account: string, path: string): Promise<Page> {
    const page = await (await browser.newContext({ bypassCSP: true })).newPage();
    page.setDefaultTimeout(LIMIT_MS);
    await page.goto(publicUrl + path);
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.locator('input[name="login"]').fill(account);
    await page.locator('input[name="password"]').fill("any");
    await page.locator('button[type="submit"]').click();
    // The provider asks for the consent on a page of its own.
    await page.locator('input[name="prompt"][value="consent"]').waitFor({ state: "attached" });
    await page.locator('button[type="submit"]').click();
    await page.waitForURL(publicUrl + path);
    return page;
  }

  async function checkAccessibility(page: Page): Promise<void> {
    await page.evaluate(axe.source);
    const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
      "axe.run().then(({ violations }) => violations)",
    );
    assert.deepEqual(found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
    const width = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    await page.setViewportSize({ width: 390, height: 900 });
    assert.equal(await page.evaluate<number>(width), 0);
    await page.setViewportSize({ width: 1280, height: 900 });
  }

  it("lets a person quarantine a test, name an owner and release it", async () => {
    const page = await signIn("ada", `/tests/${id}`);
    await page.getByLabel("Reason").fill("the clock of the runner");
    await checkAccessibility(page);
    await page.getByRole("button", { name: "Quarantine" }).click();
    await page.waitForURL(`${publicUrl}/tests/${id}#quarantine`);
    const section = page.locator("main");
    await section.getByText("added by ada@acme.example: the clock of the runner").waitFor();
    await page.getByLabel("Owner").fill("@acme/web");
    await page.getByLabel("End").fill("yesterday");
    await page.getByRole("button", { name: "Change" }).click();
    await page.getByText('invalid end "yesterday"').waitFor();
    await checkAccessibility(page);
    await page.getByLabel("End").fill("30d");
    await page.locator("form.acts button").click();
    await section.getByText("changed by ada@acme.example").waitFor();
    await section.getByRole("link", { name: "@acme/web" }).waitFor();
    await checkAccessibility(page);
    await page.getByLabel("Reason for the release").fill("fixed");
    await page.getByRole("button", { name: "Release" }).click();
    await section.getByText("removed by ada@acme.example: fixed").waitFor();
    await section.getByText("It is not quarantined.").waitFor();
    await page.context().close();
  });

  it("lets a person make a token, which the API knows until it is revoked", async () => {
    const page = await signIn("ada", "/repos");
    await page.getByRole("link", { name: "Your tokens" }).click();
    await page.getByText("You are signed in as ada@acme.example").waitFor();
    await page.getByLabel("What a new token is for").fill("my laptop");
    await page.getByRole("button", { name: "Create a token" }).click();
    token = await page.locator(".band pre").innerText();
    await checkAccessibility(page);
    const ask = () =>
      fetch(`${service.url}/api`, { headers: { authorization: `Bearer ${token}` } });
    const valid = await ask();
    assert.equal(valid.status, 204);
    await valid.body?.cancel();
    await page.goto(`${publicUrl}/tokens`);
    assert.ok(!(await page.content()).includes(token));
    await page.getByRole("button", { name: "Revoke ada@acme.example: my laptop" }).click();
    await page.getByText("You have no token.").waitFor();
    const revoked = await ask();
    assert.equal(revoked.status, 401);
    await revoked.body?.cancel();
    await page.context().close();
  });

  it("shows no form to a person who may only read", async () => {
    const page = await signIn("guest", `/tests/${id}`);
    assert.equal(await page.locator('form[method="post"]').count(), 1);
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    await page.goto(`${publicUrl}/tokens`);
    await page.getByText("You may read, but not change anything").waitFor();
    await page.context().close();
  });

  it("leads from a page to the provider and back to the page, until one signs out", async () => {
    const page = await signIn("ada", "/owners?tz=Europe/Berlin");
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
