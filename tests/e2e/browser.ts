/** A real browser for tests: Debian's Chromium, or the one that `CHROMIUM` names. */
import { existsSync } from "node:fs";
import process from "node:process";
import { type Browser, chromium } from "playwright-core";

/** Without the windows of a desktop it takes half of the processor time to start. */
const CANDIDATES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** Path of the browser, or `undefined` when this machine has none. */
const BROWSER = [process.env.CHROMIUM, ...CANDIDATES]
  .find((path) => path && existsSync(path));

/** What a test says that cannot run without a browser; `false` where there is one. */
export const NO_BROWSER = BROWSER === undefined &&
  `no Chromium: none of ${CANDIDATES.join(", ")}, and CHROMIUM names none`;

// A profile is made for every run. The browser contacts no host by itself.
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A demo that runs, and a browser. */
export interface Site {
  browser: Browser;
  /** Base address of the demo. */
  url: string;
  token: string;
}

/** Starts a browser without a window. */
export function launch(): Promise<Browser> {
  if (BROWSER === undefined) throw new Error(String(NO_BROWSER));
  return chromium.launch({ executablePath: BROWSER, args: ARGUMENTS });
}
