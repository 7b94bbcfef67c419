import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { readCommit } from "../../../lib/cli/commit.ts";

async function git(folder: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("git", {
    args: ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args],
    cwd: folder,
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

describe("the commit of a checkout", () => {
  it("equals the commit of git, on a branch, packed, detached and in a linked worktree", async () => {
    const parent = await Deno.makeTempDir({ prefix: "test-analytics-commit-" });
    try {
      const folder = join(parent, "checkout");
      await Deno.mkdir(folder);
      assert.equal(readCommit(folder), "");
      await git(folder, "init", "--quiet", "--initial-branch", "team/main");
      assert.equal(readCommit(folder), "");
      await git(folder, "commit", "--quiet", "--allow-empty", "--message", "first");
      const first = await git(folder, "rev-parse", "HEAD");
      assert.equal(readCommit(folder), first);
      await git(folder, "pack-refs", "--all");
      assert.equal(readCommit(folder), first);
      await git(folder, "worktree", "add", "--quiet", "-b", "other", join(parent, "linked"));
      await git(folder, "commit", "--quiet", "--allow-empty", "--message", "second");
      assert.equal(readCommit(join(parent, "linked")), first);
      assert.equal(readCommit(folder), await git(folder, "rev-parse", "HEAD"));
      await git(folder, "checkout", "--quiet", "--detach", first);
      assert.equal(readCommit(folder), first);
    } finally {
      await Deno.remove(parent, { recursive: true });
    }
  });
});
