/** Landed migrations never change: databases that ran them exist. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "@std/testing/bdd";
import { migrations } from "../../../db/schema/migrations/mod.ts";

/** SHA-256 of each landed migration. Lines are added, never changed. */
const LANDED: Record<string, string> = {
  "0001_initial.sql": "270b98ecccc907a848f62f403698e80fb0f9b33ed42325908b1546c1ebb962f1",
  "0002_build.sql": "62c751bfeda39b381f8a69a71dc43aeffde23bca7258a2365a60320750053ad6",
  "0003_archive_states.sql": "3cee9003c778c3a5635f89cb9de92815560f892f0b6a0bad9996b3f64ff23ec6",
  "0004_upload_token.sql": "796fc0be2963db96ffc83cd99dcb319624b858b533a42365654ceed041c3f411",
  "0005_visible.sql": "63b55694aa0618c4325a632ffc9722b1c523053a067f68b42740950af9bc638b",
  "0006_valid_until.sql": "b6f478d1698c3d77f1d57bffb3213311b1ecde46cc1e2aa74c789efe5860f730",
  "0007_import.sql": "ff8692526811cc128d6d9c77b1f4eb76ee8c7e6effc7f49539e568bcad56b3d2",
  "0008_environment.sql": "d74730d2afeef4a27d31b73cc3bd23e2da9cc84b51af18cdba16e7fe039c1e95",
  "0009_notes.sql": "5bab89e9f65f7e398ddd9f49d1eaa10a685b6e75985f1691f1410b08f4739252",
  "0010_test_counts.sql": "5791ea23aec980d81bf6612e1887f30c032a5c5db6a58bbc63b70ed92277201b",
  "0011_quarantine_token.sql": "3ce6b26a0ae2923a2c829095bd54620c2c2070d5f025df018c825d62adacd970",
  "0012_webhooks.sql": "eff5e18ab69c67326c9580d5f768a05b1365caaaf0dba9108fac96986b382808",
  "0013_overheads.sql": "aa9aa5fcbb9afe4e67ef02d1d9d6e08f7089c13fa2844855470b7da9a14f5e55",
  "0014_test_alias.sql": "6f5059a7f6c45f56a7570a3a471f24660a940d25a5ec7a6012a5f7aea64edff8",
  "0015_other_fingerprints.sql": "c2f85e0f04b60fa695b50fc4b30e00701210736bae6a2dac75a16eb0f0d6007b",
  "0016_import_is_one_transaction.sql":
    "e8c772d85913a4a7edfeda9337b599b19b319e83987dff6987e480eaed83aff2",
  "0017_lost_count.sql": "1cc7a1cfa11298ea29565386cd96417799f4975a5ff944d4c61b7615d1f08b19",
  "0018_attempt.sql": "77b76571ac8924fcaee1349ae8bf6878240784d18027933a67695709799770ae",
  "0019_evidence.sql": "61ebd998a8630b9ec401a830b5121737e04661c308c2094dedd9cf08153a44fd",
  "0020_known_on_base.sql": "ed48b25a11b931deb9730e7cd181ba6f00f331766febcd49c944f83db1572b10",
  "0021_told_by_ci.sql": "d2a2919987aff377f9b3b3e70eb2354335b80d6089b7d5e22db80d88c7d3a46d",
  "0022_trusted_issuer.sql": "44642c7d9e2e58552e71d4628a737ceb170055ec24fae8d3b8c0dbdda19d2787",
  "0023_quarantine_environment.sql":
    "70594a650e031e9ca41fc238883d33cebbd673750336a3251198cfb7a9b1d7aa",
  "0024_removal_by_token.sql": "f3257f5b04faba2bf1778101850466493facba9507d25194b2a8d7d5867be2d6",
  "0025_token_of_person.sql": "a444fda4df789a096d9fc7b6699864499280ee7d686bf5e4afb0095e50c29017",
  "0026_judged_again.sql": "cf76a2d2e3f335efa8506a1900f9a3d7a0cf3842a8c94dd71526c426e912c480",
  "0027_truth_count.sql": "9399728c29cd4d12161ddf04252ccd6ed70da6ee86e8b87983c443f157f1dba3",
  "0028_pull_number.sql": "d292abfb79df0f57c732731f378ed7288ea0eb180419a40572bae830b6804e43",
  "0029_failed_submission.sql": "7ee372ad2bb39403958761c3c7fa6abb0a81851b80eb847a55ab5308ece01686",
  "0030_report_gaps.sql": "f8424461e9bd1ebd1f91ed470faae8083396cdd7a1d70a25c2195ed7b5ecccd7",
  "0031_workflow.sql": "6a32ed9a95630451fab92cb6995e91aa6cdbbaca03d40e09d817063a5e2fc05a",
  "0032_failed_after_pass.sql": "b105c10786488241aeaf81a93e43e29e7b4c2bb64b4161c302d50db5f496e54d",
  "0033_file_matched_at.sql": "fc6289a29d8be249b16a002642169dad121ec412145b69777e8ad640254d80af",
};

const FOLDER = new URL("../../../db/schema/migrations/", import.meta.url);

describe("landed migrations", () => {
  const names = [...Deno.readDirSync(FOLDER)].map(({ name }) => name)
    .filter((name) => name.endsWith(".sql")).sort();

  it("are numbered without gaps, and run in this order", () => {
    for (const [index, name] of names.entries()) {
      assert.match(name, /^\d{4}_[a-z0-9_]+\.sql$/);
      assert.equal(Number(name.slice(0, 4)), index + 1, name);
    }
    assert.deepEqual(migrations, names.map((name) => Deno.readTextFileSync(new URL(name, FOLDER))));
  });

  it("never change", () => {
    for (const name of names) {
      const text = Deno.readTextFileSync(new URL(name, FOLDER)).replaceAll("\r\n", "\n");
      const checksum = createHash("sha256").update(text).digest("hex");
      const landed = LANDED[name];
      assert.notEqual(landed, undefined, `${name} is new: add \`"${name}": "${checksum}"\` here`);
      assert.equal(
        checksum,
        landed,
        `${name} has landed and databases have run it: undo the edit, and add a new file ` +
          "db/schema/migrations/NUMBER_NAME.sql instead",
      );
    }
    assert.deepEqual(Object.keys(LANDED), names, "a landed migration was removed or renamed");
  });
});
