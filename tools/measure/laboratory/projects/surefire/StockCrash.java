import org.junit.Test;

/** Not named like a test: only the run that wants a crash includes it. */
public class StockCrash {
  @Test public void crashes() {
    Runtime.getRuntime().halt(1);
  }
}
