/**
 * Brings the path of a source file into one form, so that `./a.c` and `lib/../a.c` are one file,
 * and `C:\src\a.cs` and `c:/src/a.cs` too.
 *
 * A relative path is never joined to an absolute one: two packages with a `src/index.ts` of their
 * own would become one file. Letter case counts, as it does where most reports are written.
 */
export function normalizePath(path: string): string {
  const slashed = path.trim().replace(/^file:\/\//, "").replaceAll("\\", "/")
    // A URL of a Windows file has a slash before the drive letter.
    .replace(/^\/?([A-Za-z]):\//, (_, drive: string) => `${drive.toUpperCase()}:/`);
  const absolute = slashed.startsWith("/");
  const segments: string[] = [];
  for (const segment of slashed.split("/")) {
    if (segment === "" || segment === ".") continue;
    const last = segments.at(-1);
    if (segment !== "..") segments.push(segment);
    else if (last !== undefined && last !== "..") segments.pop();
    else if (!absolute) segments.push(segment);
  }
  return (absolute ? "/" : "") + segments.join("/");
}
