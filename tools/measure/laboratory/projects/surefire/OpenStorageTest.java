import org.junit.After;
import org.junit.Test;

public class OpenStorageTest {
  @After public void close() {
    throw new IllegalStateException("storage is still open");
  }

  @Test public void errorsInTearDown() {}
}
