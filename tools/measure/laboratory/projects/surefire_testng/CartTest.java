import org.testng.Assert;
import org.testng.IRetryAnalyzer;
import org.testng.ITestResult;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

public class CartTest {
  static int attempts = 0;
  static int calls = 0;

  public static class Retry implements IRetryAnalyzer {
    int count = 0;

    public boolean retry(ITestResult result) {
      return count++ < 2;
    }
  }

  @Test public void passes() {}

  @Test(retryAnalyzer = Retry.class) public void alwaysFails() {
    Assert.assertEquals(1, 2);
  }

  @Test(retryAnalyzer = Retry.class) public void failsThenPasses() {
    Assert.assertTrue(++attempts > 1);
  }

  @Test(retryAnalyzer = Retry.class) public void passesThenFails() {
    Assert.assertEquals(++calls, 1);
  }

  @DataProvider public Object[][] rows() {
    return new Object[][] {{1}, {2}};
  }

  @Test(dataProvider = "rows") public void sameName(int row) {
    Assert.assertEquals(row, 1);
  }

  @Test(dataProvider = "rows") public void sameNameFailsFirst(int row) {
    Assert.assertEquals(row, 2);
  }

  @Test(enabled = false) public void isSkipped() {}

  @Test(dependsOnMethods = "alwaysFails") public void neverRuns() {}
}
