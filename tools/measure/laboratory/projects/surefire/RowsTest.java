import java.util.Arrays;
import org.junit.Assert;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;

@RunWith(Parameterized.class)
public class RowsTest {
  @Parameterized.Parameters(name = "a row")
  public static Iterable<Integer> rows() {
    return Arrays.asList(1, 2);
  }

  @Parameterized.Parameter public int row;

  @Test public void sameName() {
    Assert.assertEquals(1, row);
  }

  @Test public void sameNameFailsFirst() {
    Assert.assertEquals(2, row);
  }
}
