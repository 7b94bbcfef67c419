/**
 * The pictures of the pages, of the demo in a real browser.
 *
 * `deno run -A --config tests/deno.json tools/documentation/screenshots.ts` draws them again. They show times of that moment: no test compares them.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "../../tests/e2e/browser.ts";
import { start } from "../../tests/e2e/program.ts";

const FOLDER = fileURLToPath(new URL("../../docs/pictures", import.meta.url));
const REPOSITORY = "/repos/acme/web-shop";
/** Of WebP: the text stays sharp at a third of the bytes of PNG. */
const QUALITY = 82;

/** What is drawn; the height is cut where the picture has said enough. */
const PICTURES: { file: string; path: string; scheme: "light" | "dark"; size: [number, number] }[] =
  [
    { file: "repositories", path: "/repos", scheme: "light", size: [1160, 400] },
    { file: "repository", path: REPOSITORY, scheme: "light", size: [1160, 900] },
    { file: "repository_dark", path: REPOSITORY, scheme: "dark", size: [1160, 900] },
    { file: "test", path: "/tests/:flakiest", scheme: "light", size: [1160, 1180] },
    { file: "build", path: `${REPOSITORY}/builds/:failed`, scheme: "light", size: [1160, 900] },
    { file: "phone", path: "/tests/:flakiest", scheme: "dark", size: [390, 844] },
  ];

const demo = await start(["demo", "--port", "0", "--json"], {});
const browser = await launch();
try {
  const { token } = JSON.parse(demo.stdout());
  const read = async (path: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return await (await fetch(demo.url + path, { headers })).json();
  };
  const { tests } = await read(`/api${REPOSITORY}/tests?limit=1`);
  const { submissions } = await read(`/api${REPOSITORY}/submissions?branch=checkout-redesign`);
  for (const { file, path, scheme, size: [width, height] } of PICTURES) {
    const context = await browser.newContext({
      colorScheme: scheme,
      viewport: { width, height },
      httpCredentials: { username: "any", password: token },
    });
    const page = await context.newPage();
    await page.goto(
      demo.url + path.replace(":flakiest", tests[0].id).replace(":failed", submissions[0].id),
    );
    const session = await context.newCDPSession(page);
    const { data } = await session.send("Page.captureScreenshot", {
      format: "webp",
      quality: QUALITY,
      // Without a GPU, a picture of the surface fails at random.
      fromSurface: false,
    });
    await Deno.writeFile(join(FOLDER, `${file}.webp`), Uint8Array.fromBase64(data));
    await context.close();
  }
} finally {
  await browser.close();
  await demo.stop("SIGINT");
}
