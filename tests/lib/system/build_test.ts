import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { commitOfCheckout } from "../../../lib/system/build.ts";

const OID = "4f2a9c1d".repeat(5);

describe("the commit of a checkout", () => {
  let root = "";
  before(async () => {
    root = await Deno.makeTempDir();
  });
  after(() => Deno.remove(root, { recursive: true }));

  /** Writes files below a new folder, and returns that. */
  async function checkout(files: Record<string, string>): Promise<string> {
    const folder = await Deno.makeTempDir({ dir: root });
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(dirname(`${folder}/${path}`), { recursive: true });
      await Deno.writeTextFile(`${folder}/${path}`, text);
    }
    return folder;
  }

  it("is that of its branch, whose file may be packed", async () => {
    const HEAD = "ref: refs/heads/main\n";
    const loose = await checkout({ ".git/HEAD": HEAD, ".git/refs/heads/main": `${OID}\n` });
    assert.equal(commitOfCheckout(loose), OID);
    const refs = `# pack-refs with: peeled\n${
      "0".repeat(40)
    } refs/heads/other\n${OID} refs/heads/main\n`;
    const packed = await checkout({ ".git/HEAD": HEAD, ".git/packed-refs": refs });
    assert.equal(commitOfCheckout(packed), OID);
  });

  it("is HEAD itself where a commit is checked out, as in CI", async () => {
    assert.equal(commitOfCheckout(await checkout({ ".git/HEAD": `${OID}\n` })), OID);
  });

  it("is that of a worktree, not of the checkout it belongs to", async () => {
    const folder = await checkout({
      "main/.git/HEAD": "ref: refs/heads/main\n",
      "main/.git/refs/heads/main": "0".repeat(40),
      "main/.git/refs/heads/side": OID,
      "main/.git/worktrees/side/HEAD": "ref: refs/heads/side\n",
      "main/.git/worktrees/side/commondir": "../..\n",
      "side/.git": "gitdir: ../main/.git/worktrees/side\n",
    });
    assert.equal(commitOfCheckout(`${folder}/side`), OID);
  });

  it("is unknown without git, and where a branch has no commit yet", async () => {
    assert.equal(commitOfCheckout(await checkout({})), "");
    assert.equal(commitOfCheckout(await checkout({ ".git/HEAD": "ref: refs/heads/new\n" })), "");
  });
});
