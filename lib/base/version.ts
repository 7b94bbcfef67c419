import config from "../../deno.json" with { type: "json" };

/** The version of this program. */
export const VERSION: string = config.version;

/** The program's name in commands that messages suggest: from a checkout, or as one file. */
export const PROGRAM: string = import.meta.url.endsWith(".ts") ? "deno task cli" : "test-analytics";

/** Defined by the bundler; empty when it was not run in a git checkout. */
declare const BUILD_COMMIT: string;

/** The git commit of the build; empty when run from source or unknown. */
export const COMMIT: string = typeof BUILD_COMMIT === "string" ? BUILD_COMMIT : "";

/** Defined by the bundler: a digest of the bundle. */
declare const BUILD_DIGEST: string;

/**
 * Differs between any two builds, also of one version. From source, where any file may have changed,
 * it is another one at every start.
 */
export const BUILD_ID: string = typeof BUILD_DIGEST === "string"
  ? BUILD_DIGEST
  : String(performance.timeOrigin);

/** Version and commit, such as `0.1.0 (3f2a9c41d07e)`. */
export const BUILD: string = COMMIT === "" ? VERSION : `${VERSION} (${COMMIT.slice(0, 12)})`;
