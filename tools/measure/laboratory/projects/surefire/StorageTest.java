import org.junit.Before;
import org.junit.Test;

public class StorageTest {
  @Before public void open() {
    throw new IllegalStateException("no storage");
  }

  @Test public void errorsInSetUp() {}
}
