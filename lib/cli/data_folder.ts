// Tests: tests/lib/cli/commands/doctor_test.ts
/** The folder of the embedded database and of the inbox of `up`. */

/** The mode of the data folder, such as `755`, if others than its owner have any rights; else `null`. */
export async function openMode(dataDir: string): Promise<string | null> {
  const info = await Deno.stat(dataDir).catch(() => null);
  const mode = (info?.mode ?? 0) & 0o777;
  return (mode & 0o077) === 0 ? null : mode.toString(8);
}
