import { describeWithServer } from "./database.ts";
import { itAgreesWithTheDefinitions } from "./random_histories.ts";

describeWithServer("random histories", itAgreesWithTheDefinitions);
