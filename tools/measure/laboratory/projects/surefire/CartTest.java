import org.junit.Assert;
import org.junit.Ignore;
import org.junit.Test;

public class CartTest {
  static int attempts = 0;
  static int calls = 0;

  @Test public void passes() {}

  @Test public void alwaysFails() {
    Assert.assertEquals(1, 2);
  }

  @Test public void failsThenPasses() {
    Assert.assertTrue(++attempts > 1);
  }

  @Test public void passesThenFails() {
    Assert.assertEquals(1, ++calls);
  }

  @Ignore @Test public void isSkipped() {}
}
