/** Paths below a checkout, whose folder differs between machines, as paths inside the repository. */

/** The part behind a changing folder; `undefined` for other paths. */
type Shorten = (path: string) => string | undefined;

// Where CI services put a checkout below a name that changes from run to run: the number of a build,
// an executor or a sandbox, the name of a machine. Each takes time linear in the path's length.
const CHANGING_PLACES: readonly Shorten[] = [
  // AWS CodeBuild numbers the folder; below it comes the repository, by its address if it has one.
  (path) =>
    behind(path, 0, /\/codebuild\/output\/src\d+\/src\/(?:[\w-]+\.[\w.-]+\/[^/]+\/[^/]+\/)?/y),
  // Buildkite: the agent's name, mostly the host's and a number.
  (path) => behindFolder(path, "/buildkite-agent/builds/", /[^/]+\/[^/]+\/[^/]+\//y),
  // Self-hosted runners of Azure Pipelines and of GitHub Actions.
  (path) => behindFolder(path, "/_work/", /\d+\/s\/|([^/]+)\/\1\//y),
  // Bazel numbers its sandboxes.
  (path) => behindFolder(path, "/sandbox/", /[\w-]+\/\d+\/execroot\/[^/]+\//y),
  // GitLab's shell executor: the runner's token and the number of a concurrent job.
  (path) => {
    const rest = behind(path, 0, /\/home\/gitlab-runner\/builds\/[\w-]+\/\d+\//y);
    return rest === undefined ? undefined : `/builds/${rest}`;
  },
  // Jenkins: a second build of the same job at the same time.
  (path) => {
    const match = /@\d+\//.exec(path);
    if (!match || !path.slice(0, match.index).includes("/workspace/")) return undefined;
    return `${path.slice(0, match.index)}/${path.slice(match.index + match[0].length)}`;
  },
];

function behindFolder(path: string, folder: string, pattern: RegExp): string | undefined {
  const at = path.indexOf(folder);
  return at === -1 ? undefined : behind(path, at + folder.length, pattern);
}

function behind(path: string, at: number, pattern: RegExp): string | undefined {
  pattern.lastIndex = at;
  const isThere = pattern.test(path);
  return isThere ? path.slice(pattern.lastIndex) : undefined;
}

const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/**
 * A path, or a name that begins with one, without what changes from checkout to checkout. Relative
 * paths and paths elsewhere stay as they are.
 */
export function insideCheckout(path: string, checkoutFolder?: string): string {
  const first = path.charCodeAt(0);
  if (first !== SLASH && first !== BACKSLASH && path.charCodeAt(1) !== COLON) return path;
  if (checkoutFolder) {
    const folder = checkoutFolder.replace(/[\\/]+$/, "");
    const end = path.charCodeAt(folder.length);
    const isBelow = folder !== "" && (end === SLASH || end === BACKSLASH) &&
      path.length > folder.length + 1 && path.startsWith(folder);
    if (isBelow) return path.slice(folder.length + 1);
  }
  for (const shorten of CHANGING_PLACES) {
    const shortened = shorten(path);
    if (shortened) return shortened;
  }
  return path;
}
